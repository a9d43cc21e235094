/** What `sluice diff` says of pods that are not there yet is what `evaluate` says of both clusters once they are there. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Connections } from '../../src/answers/reach/connections.ts';
import { type Change, changesOf } from '../../src/answers/reach/diff/changes.ts';
import { pairOf, type Side, sidesOf, type Unit } from '../../src/answers/reach/diff/units.ts';
import { type Address, type Family, familyOf, parseAddress } from '../../src/model/address.ts';
import { addressOwners } from '../../src/model/addressowners.ts';
import { type Cluster, NAMESPACE_NAME_LABEL, type Pod } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { NO_INVENTORY } from '../../src/model/inventory.ts';
import type { UnknownPods } from '../../src/model/podcidrs.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { unresolvedClusterArbitrary } from '../support/arbitrary/cluster.ts';
import {
  labelsOfNew,
  NAMED,
  type NewPod,
  namespaceOfNew,
  newPod,
  newPodArbitrary,
  withoutNetworks,
  withPod,
} from '../support/arbitrary/newpods.ts';
import { pointsOf } from '../support/oracle/bruteforce.ts';
import { includesFlow } from '../support/oracle/connectionsets.ts';
import { runs } from '../support/seed.ts';

const PAIRS = runs(1_500, 75);

/** A cluster of few pods, some of whose policies are gone, and which has a new one or none. */
const pairArbitrary = fc.tuple(unresolvedClusterArbitrary, unresolvedClusterArbitrary).chain(([old, other]) =>
  fc.record({
    old: fc.constant(old),
    pods: fc.subarray([...old.pods], { maxLength: 2 }),
    dropped: fc.subarray([...old.policies.keys()], { maxLength: 1 }),
    added: fc.subarray([...other.policies], { maxLength: 1 }),
    unknownPods: fc.constantFrom<UnknownPods>('allow', 'deny'),
    news: fc.array(newPodArbitrary, { minLength: 4, maxLength: 4 }),
  }),
);

test('a comparison is empty exactly where no connection of a pod to come differs', () => {
  const tally = { empty: 0, full: 0, differing: 0, changes: 0 };
  fc.assert(
    fc.property(pairArbitrary, ({ old: whole, pods, dropped, added, unknownPods, news }) => {
      const old = withoutNetworks({ ...whole, pods: new Map(pods) });
      const kept = [...old.policies].filter(([id]) => !dropped.includes(id));
      const now = withoutNetworks({ ...old, policies: new Map([...kept, ...added]) });
      const sides = sidesOf(pairOf(compared(old), compared(now), unknownPods));
      const changes = changesOf(...sides);
      tally[changes.length === 0 ? 'empty' : 'full']++;
      const found = differingFlow(old, now, news, unknownPods);
      if (found !== undefined) tally.differing++;
      if (changes.length === 0) expect(found).toBeUndefined();
      for (const change of changes) checkChange(change, sides, unknownPods, tally);
    }),
    { numRuns: PAIRS },
  );
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(tally.empty).toBeGreaterThan(PAIRS / 20);
  expect(tally.differing).toBeGreaterThan(PAIRS / 8);
  expect(tally.changes).toBeGreaterThan(PAIRS);
}, 900_000);

const compared = (cluster: Cluster) => ({ cluster, inventory: NO_INVENTORY });

const OUTSIDE = ['203.0.113.5', '2001:db8::5'].map(text => parseAddress(text)!);

/** A flow of one of these pods that only one of the clusters allows. */
function differingFlow(old: Cluster, now: Cluster, news: readonly NewPod[], unknownPods: UnknownPods) {
  let [before, after] = [old, now];
  const pods: Pod[] = [];
  for (const [i, made] of news.entries()) {
    const namespace = namespaceOfNew(old, made);
    if (namespace === undefined || (made.namespace === 'new' && pods.some(each => each.namespace === 'new')))
      continue;
    const pod = newPod(made.namespace, labelsOfNew(made), i);
    pods.push(pod);
    [before, after] = [withPod(before, pod, namespace), withPod(after, pod, namespace)];
  }
  const [was, is] = [evaluator(before, unknownPods), evaluator(after, unknownPods)];
  const points = [...pointsOf(old), ...pointsOf(now), ...NAMED_POINTS];
  const others = [...addressOwners(before).keys(), ...OUTSIDE];
  for (const own of pods.flatMap(({ addresses }) => addresses))
    for (const other of others) {
      if (own === other || familyOf(own) !== familyOf(other)) continue;
      for (const point of points)
        for (const [from, to] of [
          [own, other],
          [other, own],
        ] as const) {
          const flow: Flow = { from, to, ...point };
          if (was(flow).verdict !== is(flow).verdict) return flow;
        }
    }
  return undefined;
}

const NAMED_POINTS = Object.values(NAMED).flatMap(port =>
  (['TCP', 'UDP', 'SCTP'] as const).map(protocol => ({ protocol, port })),
);

/** A pod of just the labels by which a change describes pods that are not there yet can do what it says. */
function checkChange(
  change: Change,
  [old, now]: readonly [Side, Side],
  unknownPods: UnknownPods,
  tally: { changes: number },
): void {
  const [before, after] = [old, now].map(({ reach }) => reach.clusterIndex.cluster);
  for (const from of change.from)
    for (const to of change.to) {
      const ends = [from, to].map((unit, n) => endOf(now, unit, change.families[0]!, n));
      if (!ends.some(end => end?.pod !== undefined) || ends.includes(undefined)) continue;
      const add = (cluster: Cluster) =>
        ends.reduce((sum, end) => (end!.pod ? withPod(sum, end!.pod, end!.namespace!) : sum), cluster);
      const flow = flowWithin(now, change.connections, ends[0]!.address, ends[1]!.address, [before!, after!]);
      const verdicts = [before!, after!].map(cluster => evaluator(add(cluster), unknownPods)(flow).verdict);
      tally.changes++;
      expect(verdicts, JSON.stringify({ flow, from: from.members, to: to.members })).toEqual(
        change.kind === 'opens' ? ['deny', 'allow'] : ['allow', 'deny'],
      );
    }
}

/** Undefined where it has no certain address. */
function endOf(side: Side, { members: [member] }: Unit, family: Family, n: number) {
  const ofFamily = (addresses: readonly Address[]) => addresses.find(each => familyOf(each) === family);
  const { cluster } = side.reach.clusterIndex;
  if (member!.kind === 'network') return { address: ofFamily(OUTSIDE)! };
  if (member!.kind === 'new') {
    const { labels, namespaces } = side.newPods.kinds[member!.index]!;
    const name = namespaces[1]!.name || `fresh-${n}`;
    if (namespaces[1]!.name !== '' && !cluster.namespaces.has(name)) return undefined;
    const namespace = {
      ...namespaces[1]!,
      name,
      labels: { ...namespaces[1]!.labels, [NAMESPACE_NAME_LABEL]: name },
    };
    const pod = newPod(name, labels, n);
    return { pod, namespace, address: ofFamily(pod.addresses)! };
  }
  if (member!.kind !== 'workload') return undefined;
  const pod = [...cluster.pods.values()].find(({ key }) => `Pod ${key}` === member!.name)!;
  const address = ofFamily(pod.addresses);
  return address === undefined ? undefined : { address };
}

function flowWithin(
  { reach: { pool } }: Side,
  connections: Connections,
  from: Address,
  to: Address,
  clusters: readonly Cluster[],
): Flow {
  const points = clusters.flatMap(pointsOf).map((point): Flow => ({ from, to, ...point }));
  const found = points.find(flow => includesFlow(connections, flow));
  if (found !== undefined) return found;
  for (const protocol of ['TCP', 'UDP', 'SCTP'] as const)
    for (const name of pool.numbersAndNames(connections[protocol]).names)
      return { from, to, protocol, port: NAMED[name as keyof typeof NAMED] };
  throw new Error(`nothing is in ${JSON.stringify(connections)}`);
}
