/** What `sluice diff` says opens and closes is what `evaluate` says of the two clusters, and no more. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Change, changesOf } from '../../src/answers/reach/diff/changes.ts';
import { pairOf, type Side, sidesOf, type Unit } from '../../src/answers/reach/diff/units.ts';
import { denyNodes } from '../../src/answers/reach/nodeends.ts';
import { type Address, familyOf } from '../../src/model/address.ts';
import { addressOwners } from '../../src/model/addressowners.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { NO_INVENTORY } from '../../src/model/inventory.ts';
import type { UnknownPods } from '../../src/model/podcidrs.ts';
import { unlistedAddresses } from '../../src/model/tunneladdresses.ts';
import { type DirectionVerdict, evaluator, type FlowVerdict } from '../../src/semantics/evaluate.ts';
import { unresolvedClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { addressesOf, isByLink, nodeAt, pointsOf } from '../support/oracle/bruteforce.ts';
import { includesFlow } from '../support/oracle/connectionsets.ts';
import { runs } from '../support/seed.ts';

const PAIRS = runs(500);

/**
 * The same cluster with some policies gone, some new ones, and some that say otherwise under their name; and in every
 * second one its pods, namespaces and nodes have other labels, and pods other ports.
 */
const pairArbitrary = fc.tuple(unresolvedClusterArbitrary, unresolvedClusterArbitrary).chain(([old, other]) =>
  fc.record({
    old: fc.constant(old),
    kept: fc.subarray([...old.policies]),
    added: fc.subarray([...other.policies], { maxLength: 3 }),
    labelled: fc.constantFrom(old, other),
    unknownPods: fc.constantFrom<UnknownPods>('allow', 'deny'),
  }),
);

/** Who is where stays as it was. */
function labelledAs(old: Cluster, other: Cluster): Pick<Cluster, 'pods' | 'namespaces' | 'nodes'> {
  const pods = [...old.pods].map(([key, pod]) => {
    const { labels, ports } = other.pods.get(key)!;
    return [key, { ...pod, labels, ports }] as const;
  });
  const nodes = [...old.nodes].map(
    ([key, node]) => [key, { ...node, labels: other.nodes.get(key)!.labels }] as const,
  );
  return { pods: new Map(pods), namespaces: other.namespaces, nodes: new Map(nodes) };
}

test('changesOf() names each connection that opens or closes, with a policy that decides it, and no other', () => {
  const tally = { asked: 0, opened: 0, closed: 0 };
  fc.assert(
    fc.property(pairArbitrary, ({ old, kept, added, labelled, unknownPods }) => {
      const now = { ...old, ...labelledAs(old, labelled), policies: new Map([...kept, ...added]) };
      const [before, after] = sidesOf(pairOf(compared(old), compared(now), unknownPods));
      const changes = changesOf(before, after);
      const judges = [evaluator(old, unknownPods), evaluator(now, unknownPods)] as const;
      const points = [...pointsOf(old), ...pointsOf(now)];
      for (const { from, to } of pairsOf(old, now))
        for (let i = 0; i < 3; i++) {
          const flow: Flow = { from, to, ...points[(tally.asked++ * 13 + i) % points.length]! };
          if (isByLink(old, flow)) continue;
          check(flow, judges, matching(changes, [before, after], flow), tally);
        }
    }),
    { numRuns: PAIRS },
  );
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(tally.opened).toBeGreaterThan(runs(4_000));
  expect(tally.closed).toBeGreaterThan(runs(4_000));
});

const compared = (cluster: Cluster) => ({ cluster, inventory: NO_INVENTORY });

/**
 * At least one end is a pod, and none is the pod's own node, which always reaches it. Where nodes are denied, also to the
 * addresses that their status does not have.
 */
function pairsOf(cluster: Cluster, now: Cluster) {
  const addresses = addressesOf(cluster);
  const owners = addressOwners(cluster);
  const pods = new Set([...cluster.pods.values()].flatMap(pod => pod.addresses));
  const unlisted = denyNodes([cluster, now]) ? [...cluster.nodes.values()].flatMap(unlistedAddresses) : [];
  return addresses.flatMap(from =>
    [...new Set([...addresses, ...unlisted])].flatMap(to => {
      if (from === to || familyOf(from) !== familyOf(to)) return [];
      if (!owners.has(from) && nodeAt(cluster, from) !== undefined) return [];
      return pods.has(from) || pods.has(to) ? [{ from, to }] : [];
    }),
  );
}

/** Two ends that were the same may not be any more. */
function matching(changes: readonly Change[], [before, after]: readonly [Side, Side], flow: Flow): Change[] {
  const family = familyOf(flow.from);
  const end = ({ reach }: Side, address: Address) => reach.families[family].ends.at(address);
  const has = (units: readonly Unit[], address: Address) =>
    units.some(
      ({ old, now }) =>
        old.some(ends => ends[family] === end(before, address)) &&
        now.some(ends => ends[family] === end(after, address)),
    );
  return changes.filter(
    ({ families, connections, from, to }) =>
      families.includes(family) &&
      includesFlow(connections, flow) &&
      has(from, flow.from) &&
      has(to, flow.to),
  );
}

function check(
  flow: Flow,
  [before, after]: readonly [(flow: Flow) => FlowVerdict, (flow: Flow) => FlowVerdict],
  found: readonly Change[],
  tally: { opened: number; closed: number },
): void {
  const [was, is] = [before(flow), after(flow)];
  const expected = was.verdict === is.verdict ? [] : [is.verdict === 'allow' ? 'opens' : 'closes'];
  if (String([...new Set(found.map(({ kind }) => kind))]) !== String(expected))
    throw new Error(`${JSON.stringify(flow)}: ${expected}, but found ${JSON.stringify(found)}`);
  if (expected.length === 0) return;
  tally[is.verdict === 'allow' ? 'opened' : 'closed']++;
  for (const change of found) {
    expect(change.before.length).toBe(decidersOf(was).length);
    for (const [names, verdict] of [
      [change.before, was],
      [change.after, is],
    ] as const)
      for (const { policy, rule } of decidersOf(verdict))
        expect(
          names.some(name => name.includes(policy!.split(' ')[1]!) && name.includes(rule ?? 'no ')),
        ).toBe(true);
  }
}

/** What policies decide the verdict, in each direction that has it. */
function decidersOf({ verdict, egress, ingress }: FlowVerdict): DirectionVerdict[] {
  return [egress, ingress].filter(each => each.verdict === verdict && each.policy !== undefined);
}
