/**
 * The first packet of a connection from a client to a pod that lets it in. What was accepted is thrown away at
 * postrouting, before conntrack would confirm it, so that policy is all that differs and every packet is the
 * first of its connection. The floor is the same router, conntrack on, without our tables.
 */
import { compile } from '../../src/compiler/compile.ts';
import { NODE } from '../cluster.ts';
import { absolute, againstFloor, type BenchRow } from '../row.ts';
import { clientPort, type PolicyShape, packetCluster } from './cluster.ts';
import { flowsTo } from './flows.ts';
import { logRounds, measure } from './rounds.ts';
import type { Router } from './router.ts';
import type { Testbed } from './testbed.ts';
import { checkAccepted, throwAwayAccepted } from './throwaway.ts';

const PLAN = { rounds: 41, packets: 16_384, seconds: 50 };
const FLOWS = 16_384;

const policies = (count: number): PolicyShape => ({ classes: 10, policies: count });
const runs = (count: number): PolicyShape => ({ classes: 100, policies: 100, runs: count });
const portRuns = (count: number): PolicyShape => ({ ...runs(count), runPorts: 'clients' });

/** Two runs are only logged: they show that the cost is a straight line. */
const DESIGNS = {
  '1 policy': policies(1),
  '10 policies': policies(10),
  '100 policies': policies(100),
  '1000 policies': policies(1000),
  '4 policies on one port': { ...policies(4), ports: 1 },
  'no policy on the pod': policies(0),
  'no policy on the pod, unknown pods denied': { ...policies(0), unknownPods: 'deny' },
  '1 policy, unknown pods denied': { ...policies(1), unknownPods: 'deny' },
  '1 run': runs(1),
  '2 runs': runs(2),
  '3 runs': runs(3),
  '9 runs': runs(9),
  '1 run on the port': portRuns(1),
  '9 runs on the port': portRuns(9),
} satisfies Record<string, PolicyShape>;

type Design = keyof typeof DESIGNS;

export async function newConnections(testbed: Testbed): Promise<BenchRow[]> {
  const floor = await router('no policy', policies(1), testbed);
  const designs = new Map<Design, Router>();
  for (const name of Object.keys(DESIGNS) as Design[]) designs.set(name, await programmed(name, testbed));
  const all = [floor, ...designs.values()];
  const rounds = await measure(all, PLAN);
  all.forEach(checkAccepted);
  logRounds(rounds, floor, testbed.log);
  return rows(name => rounds.added(designs.get(name)!, floor).median, rounds.cost(floor).median);
}

function rows(added: (design: Design) => number, floor: number): BenchRow[] {
  const connection = (design: Design) => ({
    ...absolute(`new connection, ${design}`, 'ns', added(design), 300),
    floor,
  });
  const denied = (design: '1 policy' | 'no policy on the pod') =>
    added(`${design}, unknown pods denied`) - added(design);
  const further = (most: Design, fewest: Design) => (added(most) - added(fewest)) / 8;
  return [
    connection('1 policy'),
    connection('10 policies'),
    connection('100 policies'),
    connection('1000 policies'),
    againstFloor('new connection, 1000 : 1 policies', 'ns', added('1000 policies'), added('1 policy'), 1.1),
    connection('4 policies on one port'),
    absolute('unknown pods denied, known pod', 'ns', denied('1 policy'), 40),
    absolute('unknown pods denied, known pod without policy', 'ns', denied('no policy on the pod'), 40),
    absolute('each further run', 'ns', further('9 runs', '1 run'), 40),
    absolute('each further run, on the port', 'ns', further('9 runs on the port', '1 run on the port'), 40),
    absolute('three runs per direction, 100 classes', 'ns', added('3 runs'), 420),
  ];
}

async function programmed(name: Design, testbed: Testbed): Promise<Router> {
  const shape: PolicyShape = DESIGNS[name];
  const made = await router(name, shape, testbed);
  const cluster = packetCluster(shape, { uplinks: [made.uplink] });
  await made.commit(compile(cluster, NODE, shape.unknownPods));
  return made;
}

async function router(name: string, shape: PolicyShape, testbed: Testbed): Promise<Router> {
  const made = await testbed.router(name, flowsTo(clientPort(shape), FLOWS));
  throwAwayAccepted(made);
  return made;
}
