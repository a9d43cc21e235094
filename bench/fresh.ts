/**
 * A process of its own that takes a whole cluster in, as an agent does that has just started, and says what that
 * took: `node bench/fresh.ts SIZE`.
 */
import { keepMemorySmall } from '../src/cli/memory.ts';
import { benchCluster, type Size } from './cluster.ts';
import { Follower } from './follower.ts';

export interface FreshFigures {
  /** From the first look at the state until the rules are in force. */
  readonly seconds: number;
  /** Resident memory then. */
  readonly megabytes: number;
}

if (import.meta.main) console.log(JSON.stringify(await figures(JSON.parse(process.argv[2]!))));

async function figures(size: Size): Promise<FreshFigures> {
  keepMemorySmall();
  await import('../src/cli/agent.ts'); // what the agent has in memory before it knows of any pod
  const follower = await Follower.start();
  const seconds = (await follower.follow(...benchCluster(size))) / 1000;
  const megabytes = process.memoryUsage.rss() / 1e6;
  follower.close();
  return { seconds, megabytes };
}
