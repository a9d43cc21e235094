/**
 * Of an address that a pod was told under a name, the matrix's column of the name, beside that of its network, and the
 * lines of `sluice diff` are what `evaluate` says: at each address outside, for each pattern, and for nobody who has no
 * rule by such a name.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Change, changesOf } from '../../src/answers/reach/diff/changes.ts';
import { pairOf, type Side, sidesOf, type Unit } from '../../src/answers/reach/diff/units.ts';
import { type Matrix, matrixOf } from '../../src/answers/reach/matrixlines.ts';
import { reachPlaces } from '../../src/answers/reach/places.ts';
import { type Reach, reachOf } from '../../src/answers/reach/reach.ts';
import { domainTexts, networkText } from '../../src/answers/reach/view.ts';
import { type Address, familyOf } from '../../src/model/address.ts';
import { addressOwners } from '../../src/model/addressowners.ts';
import type { Cluster, Pod } from '../../src/model/cluster.ts';
import { matchesDomainName } from '../../src/model/domainname.ts';
import type { Flow } from '../../src/model/flow.ts';
import { NO_INVENTORY } from '../../src/model/inventory.ts';
import type { UnknownPods } from '../../src/model/podcidrs.ts';
import type { Rule } from '../../src/model/policy.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { unresolvedClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { addressesOf, pointsOf } from '../support/oracle/bruteforce.ts';
import { includesFlow } from '../support/oracle/connectionsets.ts';
import { runs } from '../support/seed.ts';

const CLUSTERS = runs(150, 60);
const unknownPods = fc.constantFrom<UnknownPods>('allow', 'deny');

test('the column of a name has what evaluate() allows to an address told under it, for whom has a rule by it', () => {
  const tally = { asked: 0, allowed: 0, unheard: 0, parts: 0 };
  const check = (cluster: Cluster, unknown: UnknownPods) => {
    const reach = reachOf(cluster, { unknownPods: unknown });
    const matrix = matrixOf([{ reach, templates: [], others: [], possible: new Set() }], reachPlaces(reach));
    const points = pointsOf(cluster);
    for (const resolved of resolutions(cluster, reach)) {
      const line = columnOf(reach, matrix, resolved);
      if (line === undefined) {
        expect(rulesBy(cluster, resolved)).toBe(false);
        continue;
      }
      const text = domainTexts(reach, line.members);
      if (!text.includes(resolved.pattern)) tally.parts++;
      const { ends } = reach.families[familyOf(resolved.to)];
      const source = matrix.lines.find(({ members }) =>
        members.some(member => member.kind === 'pod' && member.addresses.includes(resolved.from)),
      )!;
      const cell = matrix.cell(source, line)[familyOf(resolved.to)]!;
      const anyway = reach.families[familyOf(resolved.to)].connections(
        ends.at(resolved.from),
        ends.at(resolved.to),
      );
      const nameClass = reach.clusterIndex.names.findIndex(each => each.patterns.includes(resolved.pattern));
      if (!reach.families[familyOf(resolved.to)].mayResolve(ends.at(resolved.from), nameClass)) {
        expect(cell).toBe(reach.pool.none);
        tally.unheard++;
        continue;
      }
      const evaluate = evaluator({ ...cluster, resolved: resolvedOnly(resolved) }, unknown);
      for (let i = 0; i < 4; i++) {
        const flow = flowOf(resolved, points[(tally.asked++ * 7) % points.length]!);
        const isAllowed = evaluate(flow).verdict === 'allow';
        if (isAllowed) tally.allowed++;
        if ((includesFlow(cell, flow) || includesFlow(anyway, flow)) !== isAllowed)
          throw new Error(
            `${JSON.stringify(resolved)} ${JSON.stringify(flow)}: ${isAllowed}; ${text}: ${JSON.stringify(cell)}`,
          );
      }
    }
  };
  fc.assert(fc.property(unresolvedClusterArbitrary.map(withNamesAllowed), unknownPods, check), {
    numRuns: CLUSTERS,
  });
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(tally.asked).toBeGreaterThan(20 * CLUSTERS);
  expect(tally.allowed / tally.asked).toBeGreaterThan(0.1);
  expect(tally.allowed / tally.asked).toBeLessThan(0.9);
  expect(tally.unheard).toBeGreaterThan(CLUSTERS);
  expect(tally.parts).toBeGreaterThan(CLUSTERS);
}, 900_000);

test('diff says of a name what opens and closes to an address told under it, and no other', () => {
  const tally = { asked: 0, opened: 0, closed: 0 };
  const pairs = fc.tuple(unresolvedClusterArbitrary, unresolvedClusterArbitrary).chain(([old, other]) =>
    fc.record({
      old: fc.constant(old),
      kept: fc.subarray([...old.policies]),
      added: fc.subarray([...other.policies], { maxLength: 3 }),
      unknown: unknownPods,
    }),
  );
  const check = ({
    old,
    kept,
    added,
    unknown,
  }: {
    old: Cluster;
    kept: never[];
    added: never[];
    unknown: UnknownPods;
  }) => {
    const now: Cluster = { ...old, policies: new Map([...kept, ...added]) };
    const [before, after] = sidesOf(pairOf(compared(old), compared(now), unknown));
    const changes = changesOf(before, after);
    const points = [...pointsOf(old), ...pointsOf(now)];
    for (const resolved of resolutions(old, after.reach)) {
      if (!rulesBy(old, resolved, resolved.from) && !rulesBy(now, resolved, resolved.from)) continue;
      const judges = [old, now].map(cluster =>
        evaluator({ ...cluster, resolved: resolvedOnly(resolved) }, unknown),
      );
      for (let i = 0; i < 2; i++) {
        const flow = flowOf(resolved, points[(tally.asked++ * 13) % points.length]!);
        const [was, is] = judges.map(evaluate => evaluate(flow).verdict);
        const expected = was === is ? [] : [is === 'allow' ? 'opens' : 'closes'];
        if (was !== is) tally[is === 'allow' ? 'opened' : 'closed']++;
        const found = [...new Set(matching(changes, before, resolved, flow).map(({ kind }) => kind))];
        if (String(found) !== String(expected))
          throw new Error(
            `${JSON.stringify(resolved)} ${JSON.stringify(flow)}: ${expected}, but found ${found}`,
          );
      }
    }
  };
  fc.assert(fc.property(pairs as never, check as never), { numRuns: CLUSTERS });
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(tally.opened).toBeGreaterThan(CLUSTERS);
  expect(tally.closed).toBeGreaterThan(CLUSTERS);
}, 900_000);

/** As the API has it: names stand in rules that accept, and in no others. */
function withNamesAllowed(cluster: Cluster): Cluster {
  const allowed = (rule: Rule): Rule =>
    rule.peers === 'any' || rule.action === 'accept'
      ? rule
      : { ...rule, peers: rule.peers.filter(({ kind }) => kind !== 'domain') };
  const policies = [...cluster.policies].map(
    ([id, policy]) =>
      [id, policy.egress ? { ...policy, egress: policy.egress.map(allowed) } : policy] as const,
  );
  return { ...cluster, policies: new Map(policies) };
}

interface Resolution {
  readonly pod: Pod;
  readonly from: Address;
  readonly to: Address;
  readonly pattern: string;
}

/** Each pod, told each address that nobody has, under a name of which no narrower pattern is than this one. */
function* resolutions(cluster: Cluster, reach: Reach): Generator<Resolution> {
  const owners = addressOwners(cluster);
  const { nodes } = reach.clusterIndex;
  const outside = addressesOf(cluster).filter(each => !owners.has(each) && !nodes.has(each));
  const patterns = reach.clusterIndex.names.flatMap(each => each.patterns);
  let turn = 0;
  for (const [from, pod] of owners)
    for (const to of outside) {
      if (familyOf(from) !== familyOf(to) || reach.clusterIndex.nodeDenyingUnknownPod(to) !== undefined)
        continue;
      for (const pattern of patterns) if (turn++ % 3 === 0) yield { pod, from, to, pattern };
    }
}

const nameUnder = (pattern: string) => pattern.replace(/^\*/, 'fresh');

function resolvedOnly({ pod: { key }, to, pattern }: Resolution) {
  return {
    has: (pod: string, address: Address, asked: string) =>
      pod === key && address === to && matchesDomainName(asked, nameUnder(pattern)),
  };
}

function flowOf({ from, to }: Resolution, point: object): Flow {
  return { from, to, ...point } as Flow;
}

/** Of the lines of names, the one that has the class of this one at the region of the address. */
function columnOf(reach: Reach, { lines }: Matrix, { to, pattern }: Resolution) {
  const family = familyOf(to);
  const region = reach.families[family].ends.regions.at(to);
  const found = lines.filter(({ members }) =>
    members.some(
      member =>
        member.kind === 'domain' &&
        reach.clusterIndex.names[member.nameClass]!.patterns.includes(pattern) &&
        member.regions[family]?.includes(region),
    ),
  );
  expect(found.length).toBeLessThan(2);
  const [line] = found;
  const texts = line === undefined ? [] : domainTexts(reach, line.members);
  const networks = networkText(reach, { [family]: region }).join(', ');
  for (const text of texts.filter(each => each.startsWith(`${pattern} in `) && !/ and \d+ more$/.test(each)))
    expect(text).toContain(networks);
  for (const text of texts.filter(each => each.startsWith(`${pattern} outside `)))
    expect(text).not.toContain(`${networks},`);
  return line;
}

/** Whether some pod's policies, or this one's, have a rule by such a name. */
function rulesBy(cluster: Cluster, { to, pattern }: Resolution, from?: Address): boolean {
  const reach = reachOf(cluster, { unknownPods: 'allow' });
  const { ends, reachOfFamily } = {
    ends: reach.families[familyOf(to)].ends,
    reachOfFamily: reach.families[familyOf(to)],
  };
  return reach.clusterIndex.names.some(({ meaning }, nameClass) => {
    const isMeant = [...meaning].every(each => matchesDomainName(each, nameUnder(pattern)));
    if (!isMeant) return false;
    return from === undefined
      ? reachOfFamily.endsResolving(nameClass).length > 0
      : reachOfFamily.mayResolve(ends.at(from), nameClass);
  });
}

const compared = (cluster: Cluster) => ({ cluster, inventory: NO_INVENTORY });

function matching(changes: readonly Change[], { reach }: Side, resolved: Resolution, flow: Flow): Change[] {
  const family = familyOf(flow.from);
  const { ends } = reach.families[family];
  const region = ends.regions.at(resolved.to);
  const isFrom = (units: readonly Unit[]) =>
    units.some(({ old }) => old.some(each => each[family] === ends.at(resolved.from)));
  const isTo = (units: readonly Unit[]) =>
    units.some(({ members }) =>
      members.some(
        member =>
          member.kind === 'domain' &&
          reach.clusterIndex.names[member.nameClass]!.patterns.includes(resolved.pattern) &&
          member.regions[family]?.includes(region),
      ),
    );
  return changes.filter(
    ({ families, connections, from, to }) =>
      families.includes(family) && includesFlow(connections, flow) && isFrom(from) && isTo(to),
  );
}
