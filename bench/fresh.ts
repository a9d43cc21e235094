/**
 * A process of its own that takes a whole cluster in, as an agent does that has just started, and says how many
 * seconds it took from the first look at the state until the rules were in force: `node bench/fresh.ts SIZE`.
 */
import { keepMemorySmall } from '../src/kernel/host/memory.ts';
import { benchCluster, type Size } from './cluster.ts';
import { Follower } from './follower.ts';

if (import.meta.main) console.log(await seconds(JSON.parse(process.argv[2]!)));

async function seconds(size: Size): Promise<number> {
  keepMemorySmall();
  const follower = await Follower.start();
  const tookMs = await follower.follow(...benchCluster(size));
  follower.close();
  return tookMs / 1000;
}
