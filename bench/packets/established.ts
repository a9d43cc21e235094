/**
 * A packet of an established connection (UDP, answered and assured) through our tables with 1,000 policies on
 * the pod. The floor is the least that a stateful firewall can do: one chain with one rule.
 */
import { setTimeout } from 'node:timers/promises';
import { compile } from '../../src/compiler/compile.ts';
import { NODE } from '../cluster.ts';
import { absolute, type BenchRow } from '../row.ts';
import { clientPort, packetCluster } from './cluster.ts';
import { flowsTo } from './flows.ts';
import { logRounds, measure } from './rounds.ts';
import { INSIDE, OUTSIDE, type Router } from './router.ts';
import type { Testbed } from './testbed.ts';

export const PLAN = { rounds: 101, packets: 16_384, seconds: 30 };
// Few enough for their conntrack entries to stay in the cache: their misses are noise of several percent.
export const FLOWS = 256;
const SHAPE = { classes: 10, policies: 1000 };
// conntrack calls a UDP flow a stream, and assures it, if it still has replies after two seconds.
const STREAM_AFTER_MS = 2200;

const ONE_CT_RULE = `table ip bare {
  chain forward {
    type filter hook forward priority filter; policy accept;
    ct state established,related accept
  }
}`;

const COUNT_ASSURED = `table ip benchmark {
  chain assured {
    type filter hook postrouting priority 200; policy accept;
    ct status assured counter
  }
}`;

export async function establishedPackets(testbed: Testbed): Promise<BenchRow[]> {
  const flows = flowsTo(clientPort(SHAPE), FLOWS);
  const bare = await testbed.router('established, one ct rule', flows);
  bare.load(ONE_CT_RULE);
  const ours = await testbed.router('established, our tables', flows);
  await ours.commit(compile(packetCluster(SHAPE, { uplinks: [ours.uplink] }), NODE));
  await establish([bare, ours]);
  const rounds = await measure([bare, ours], PLAN);
  logRounds(rounds, bare, testbed.log);
  const percent = (100 * rounds.added(ours, bare).median) / rounds.cost(bare).median;
  return [absolute('established packet', '%', percent, 1)];
}

/** Every flow has had replies for as long as it takes to be a stream. */
export async function establish(routers: readonly Router[]): Promise<void> {
  for (const router of routers) await converse(router);
  await setTimeout(STREAM_AFTER_MS);
  for (const router of routers) {
    await converse(router);
    await checkAssured(router);
  }
}

/** Every flow has a packet, and a reply. */
async function converse(router: Router): Promise<void> {
  await router.inject(OUTSIDE, FLOWS);
  await router.inject(INSIDE, FLOWS);
}

async function checkAssured(router: Router): Promise<void> {
  router.load(COUNT_ASSURED);
  await router.inject(OUTSIDE, FLOWS);
  const assured = router.counted('benchmark');
  if (assured !== FLOWS) throw new Error(`${router.name}: ${assured} of ${FLOWS} flows are assured`);
  router.load('delete table ip benchmark');
}
