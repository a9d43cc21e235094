/**
 * The cost of checking the source (compiler/podlinks.ts) of the first packet of a connection: some ten ns of a
 * thousand, so few routers take very many turns. Two of them are the same, to show how large a random difference is.
 */
import { compile } from '../../src/compiler/compile.ts';
import { NODE } from '../cluster.ts';
import { absolute, type BenchRow } from '../row.ts';
import { clientPort, type PolicyShape, packetCluster } from './cluster.ts';
import { flowsTo } from './flows.ts';
import { logRounds, measure } from './rounds.ts';
import type { Router } from './router.ts';
import { withoutSourceCheck } from './sourcecheck.ts';
import type { Testbed } from './testbed.ts';
import { checkAccepted, throwAwayAccepted } from './throwaway.ts';

const PLAN = { rounds: 601, packets: 4096, seconds: 40 };
const FLOWS = 4096;
const SHAPE: PolicyShape = { classes: 10, policies: 1 };

/** By which link clients come is what the check depends on, and whether a bridge leads to pods. */
const DESIGNS = ['unchecked', 'unchecked again', 'from elsewhere', 'beside a bridge', 'from a pod'] as const;
type Design = (typeof DESIGNS)[number];

export async function sourceChecks(testbed: Testbed): Promise<BenchRow[]> {
  const routers = new Map<Design, Router>();
  for (const design of DESIGNS) routers.set(design, await programmed(design, testbed));
  const floor = routers.get('unchecked')!;
  const rounds = await measure([...routers.values()], PLAN);
  for (const router of routers.values()) checkAccepted(router);
  logRounds(rounds, floor, testbed.log);
  const row = (design: Design, name: string, budgetNs: number) =>
    absolute(name, 'ns', rounds.added(routers.get(design)!, floor).median, budgetNs);
  return [
    row('unchecked again', 'the same rules twice: what a difference is worth', 10),
    row('from elsewhere', 'source check, from elsewhere', 20),
    row('beside a bridge', 'source check, from elsewhere to a node with a bridge of pods', 20),
    row('from a pod', 'source check, from a pod', 250),
  ];
}

async function programmed(design: Design, testbed: Testbed): Promise<Router> {
  const router = await testbed.router(`source check: ${design}`, flowsTo(clientPort(SHAPE), FLOWS));
  throwAwayAccepted(router);
  const links = {
    // A packet that comes by a veth other than the uplink comes from a pod.
    uplinks: design === 'from a pod' ? [] : [router.uplink],
    podBridges: design === 'beside a bridge' ? [router.index('inside')] : [],
  };
  const rules = compile(packetCluster(SHAPE, links), NODE);
  await router.commit(design.startsWith('unchecked') ? withoutSourceCheck(rules) : rules);
  return router;
}
