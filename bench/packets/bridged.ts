/**
 * The first packet of a connection that a pod behind a port of a bridge opens: with the table of bridges, which asks by
 * whom the port leads to (compiler/podports.ts), and without it.
 */
import { compile } from '../../src/compiler/compile.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import { NODE } from '../cluster.ts';
import { absolute, type BenchRow } from '../row.ts';
import { clientPort, localAddresses, type PolicyShape, packetCluster } from './cluster.ts';
import { flowsTo } from './flows.ts';
import { logRounds, measure } from './rounds.ts';
import { INSIDE, type Router, SENDER } from './router.ts';
import type { Testbed } from './testbed.ts';
import { checkAccepted, throwAwayAccepted } from './throwaway.ts';

const PLAN = { rounds: 101, packets: 16_384, seconds: 20 };
const FLOWS = 16_384;
/** No policies select its pods, so that only the bridge differs. */
const SHAPE: PolicyShape = { classes: 10, policies: 0 };
const BUDGET_NS = 150;

export async function bridgedPackets(testbed: Testbed): Promise<BenchRow[]> {
  const unasked = await router('a pod on a bridge, ports not asked', testbed);
  const asked = await router('a pod on a bridge', testbed);
  await unasked.commit(compile(clusterOf(unasked, false), NODE));
  await asked.commit(compile(clusterOf(asked, true), NODE));
  const rounds = await measure([unasked, asked], PLAN, INSIDE);
  for (const each of [unasked, asked]) checkAccepted(each);
  logRounds(rounds, unasked, testbed.log);
  const { median } = rounds.added(asked, unasked);
  return [absolute('port check, from a pod on a bridge', 'ns', median, BUDGET_NS)];
}

async function router(name: string, testbed: Testbed): Promise<Router> {
  const made = await testbed.router(name, flowsTo(clientPort(SHAPE), FLOWS), true);
  throwAwayAccepted(made);
  return made;
}

function clusterOf(router: Router, portsAsked: boolean): Cluster {
  const port = { index: router.index('inside'), mac: SENDER, addresses: localAddresses };
  return packetCluster(SHAPE, {
    uplinks: [router.uplink],
    podBridges: [router.index('bridge')],
    ...(portsAsked && { podPorts: [port] }),
  });
}
