/**
 * A repository often holds no Namespace, no Node and no status. An answer is `allow` or `deny` only if `evaluate` says so
 * of every cluster that it may become.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answer, verdictOfCase } from '../../src/answers/questions/answer.ts';
import { evaluateAll } from '../../src/answers/questions/completions.ts';
import { PRIVATE, pieces } from '../../src/answers/questions/ranges.ts';
import { diffOf } from '../../src/answers/reach/diff/diffview.ts';
import { matrixObject, rowsOf } from '../../src/answers/reach/rows.ts';
import { matrixViewOf } from '../../src/answers/reach/view.ts';
import {
  type Address,
  addressFromInt,
  cidrContains,
  FAMILIES,
  parseAddress,
  parseCidr,
} from '../../src/model/address.ts';
import { type Cluster, NAMESPACE_NAME_LABEL, type Pod } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { NO_INVENTORY } from '../../src/model/inventory.ts';
import { type Rule, rulesOf } from '../../src/model/policy.ts';
import { evaluate } from '../../src/semantics/evaluate.ts';
import { unresolvedClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { withoutNetworks } from '../support/arbitrary/newpods.ts';
import { pointsOf } from '../support/oracle/bruteforce.ts';
import { includesFlow } from '../support/oracle/connectionsets.ts';
import { familyWord, includes, type PrintedMatrix } from '../support/oracle/printedmatrix.ts';
import { runs } from '../support/seed.ts';

const CLUSTERS = runs(400, 20);
const QUESTIONS = 4;

/** Without Namespaces, Nodes and addresses; all labels of pods are in their manifests. */
const repositoryArbitrary = unresolvedClusterArbitrary.map((cluster): Cluster => {
  const pods = [...cluster.pods.values()]
    .filter(pod => !pod.hostNetwork && !pod.finished)
    .map(({ partial: _, ...pod }): Pod => ({ ...pod, node: '', addresses: [] }));
  return {
    namespaces: new Map(),
    nodes: new Map(),
    pods: new Map(pods.map(pod => [pod.key, pod])),
    policies: cluster.policies,
  };
});

const TEAMS = [undefined, 'red', 'blue', 'other'];

/** The repository with labels on two namespaces, and addresses of two pods. */
function* completionsOf(
  cluster: Cluster,
  from: Pod,
  to: Pod,
  [source, destination]: readonly [Address, Address],
) {
  const pods = new Map(cluster.pods)
    .set(from.key, { ...from, addresses: [source] })
    .set(to.key, { ...to, addresses: [destination] });
  const labelled = (name: string, team: string | undefined) =>
    [name, { name, labels: { ...(team && { team }), [NAMESPACE_NAME_LABEL]: name } }] as const;
  for (const own of TEAMS)
    for (const other of from.namespace === to.namespace ? [own] : TEAMS)
      yield {
        ...cluster,
        pods,
        namespaces: new Map([labelled(from.namespace, own), labelled(to.namespace, other)]),
      };
}

const ADDRESSES = ['10.0.1.2', '10.0.1.77', '10.0.2.9', '172.16.0.9', '192.168.3.3'].map(
  text => parseAddress(text)!,
);

test('explain says allow or deny only of what all completions of a repository agree on', () => {
  const tally = { cases: 0, undecided: 0, allow: 0, deny: 0, whole: 0 };
  const check = (cluster: Cluster, seed: number) => {
    const pods = [...cluster.pods.values()];
    if (pods.length < 2) return;
    const view = asked(cluster);
    const points = pointsOf(cluster);
    for (let i = 0; i < QUESTIONS; i++) {
      const from = pods[(seed + i) % pods.length]!;
      const to = pods[(seed + i * 3 + 1) % pods.length]!;
      if (from === to) continue;
      const point = points[(seed * 7 + i) % points.length]!;
      if (point.port === undefined) continue;
      const found = answer(view, { from: from.key, to: `${to.key}:${point.port}/${point.protocol}` });
      for (const each of found.cases.slice(0, 20)) {
        const verdicts = verdictsOf(cluster, from, to, each.flow);
        const expected = verdicts.size > 1 ? 'undecided' : [...verdicts][0]!;
        tally.cases++;
        tally[expected]++;
        expect(verdictOfCase(each), JSON.stringify(each.flow)).toBe(expected);
      }
      if (found.differsBy.length > 0) continue;
      tally.whole++;
      for (const source of ADDRESSES) {
        const destination = ADDRESSES[(ADDRESSES.indexOf(source) + 1) % ADDRESSES.length]!;
        const flow = { ...found.cases[0]!.flow, from: source, to: destination };
        const verdicts = verdictsOf(cluster, from, to, flow);
        if (found.verdict !== 'undecided')
          expect([...verdicts], JSON.stringify(flow)).toEqual([found.verdict]);
      }
    }
  };
  fc.assert(fc.property(repositoryArbitrary, fc.nat(1_000), check), {
    numRuns: CLUSTERS,
    endOnFailure: true,
  });
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  for (const count of [tally.undecided, tally.allow, tally.deny])
    expect(count).toBeGreaterThan(tally.cases / 20);
  expect(tally.whole).toBeGreaterThan(CLUSTERS / 2);
}, 900_000);

test('matrix lists as allowed, as undecided and as denied what completions of a repository agree on or not', () => {
  const tally = { asked: 0, undecided: 0, allow: 0, deny: 0 };
  const check = (whole: Cluster, seed: number) => {
    const cluster = withoutNetworks(whole);
    const view = matrixViewOf({ cluster, inventory: NO_INVENTORY }, 'allow');
    const rows = rowsOf(view, () => true);
    const printed = JSON.parse(JSON.stringify(matrixObject(view, rows, []))) as PrintedMatrix;
    const pods = [...cluster.pods.values()];
    const points = pointsOf(cluster);
    for (let i = 0; i < 20 && pods.length > 1; i++) {
      const from = pods[(seed + i) % pods.length]!;
      const to = pods[(seed + i * 3 + 1) % pods.length]!;
      if (from === to) continue;
      const flow: Flow = {
        from: ADDRESSES[0]!,
        to: ADDRESSES[1]!,
        ...points[(seed * 7 + i) % points.length]!,
      };
      const verdicts = verdictsOf(cluster, from, to, flow);
      const expected = verdicts.size > 1 ? 'undecided' : [...verdicts][0]!;
      tally.asked++;
      tally[expected]++;
      expect(printedVerdict(printed, from, to, flow), JSON.stringify([from.key, to.key, flow])).toBe(
        expected,
      );
    }
  };
  fc.assert(fc.property(repositoryArbitrary, fc.nat(1_000), check), {
    numRuns: CLUSTERS,
    endOnFailure: true,
  });
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  for (const count of [tally.undecided, tally.allow, tally.deny])
    expect(count).toBeGreaterThan(tally.asked / 20);
}, 900_000);

test('diff is empty exactly where no completion of two repositories differs, and is sure only of what all agree on', () => {
  const tally = { empty: 0, opens: 0, closes: 0, undecided: 0 };
  const check = (old: Cluster, other: Cluster, seed: number) => {
    const before = withoutNetworks(old);
    const [dropped] = [...before.policies.keys()].slice(seed % before.policies.size);
    const policies = new Map([...before.policies].filter(([id]) => id !== dropped || seed % 3 === 0));
    const [added] = [...withoutNetworks(other).policies];
    const after = { ...before, policies: seed % 3 === 1 ? policies : new Map([...policies, added!]) };
    const compared = (cluster: Cluster) => ({ cluster, inventory: NO_INVENTORY });
    const { changes } = diffOf(compared(before), compared(after), 'allow');
    if (changes.length === 0) tally.empty++;
    const pods = [...before.pods.values()];
    for (let i = 0; i < 12 && pods.length > 1; i++) {
      const [from, to] = [pods[(seed + i) % pods.length]!, pods[(seed + i * 3 + 1) % pods.length]!];
      if (from === to) continue;
      const points = [...pointsOf(before), ...pointsOf(after)];
      const flow: Flow = {
        from: ADDRESSES[0]!,
        to: ADDRESSES[1]!,
        ...points[(seed * 7 + i) % points.length]!,
      };
      const expected = new Set(
        differencesIn(before, after, from, to, flow).map(([was, is]) =>
          was === is ? 'same' : is === 'allow' ? 'opens' : 'closes',
        ),
      );
      const found = changes.filter(
        each =>
          each.from.includes(`Pod ${from.key}`) &&
          each.to.includes(`Pod ${to.key}`) &&
          includesFlow(each.connections, flow),
      );
      for (const kind of ['opens', 'closes'] as const) {
        const some = found.filter(each => each.kind === kind);
        expect(some.length > 0, JSON.stringify([from.key, to.key, flow, kind])).toBe(expected.has(kind));
        if (some.length > 0) tally[kind]++;
        if (some.some(each => each.undecided)) tally.undecided++;
        else if (some.length > 0) expect([...expected]).toEqual([kind]);
      }
    }
  };
  fc.assert(fc.property(repositoryArbitrary, repositoryArbitrary, fc.nat(1_000), check), {
    numRuns: CLUSTERS,
    endOnFailure: true,
  });
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  for (const count of Object.values(tally)) expect(count).toBeGreaterThan(0);
}, 900_000);

test('a cell of matrix is allowed, undecided or denied as the cases of explain are, wherever pods get their addresses', () => {
  const tally = { asked: 0, undecided: 0, allow: 0, deny: 0, byAddress: 0 };
  const check = (cluster: Cluster, seed: number) => {
    const pods = [...cluster.pods.values()];
    if (pods.length < 2) return;
    const view = asked(cluster);
    const found = matrixViewOf(view, 'allow');
    const printed = JSON.parse(
      JSON.stringify(
        matrixObject(
          found,
          rowsOf(found, () => true),
          [],
        ),
      ),
    );
    const points = pointsOf(cluster).filter(({ port }) => port !== undefined);
    for (let i = 0; i < QUESTIONS; i++) {
      const [from, to] = [pods[(seed + i) % pods.length]!, pods[(seed + i * 3 + 1) % pods.length]!];
      const point = points[(seed * 7 + i) % points.length];
      if (from === to || point === undefined) continue;
      const { cases, differsBy } = answer(view, {
        from: from.key,
        to: `${to.key}:${point.port}/${point.protocol}`,
      });
      for (const family of FAMILIES) {
        const own = cases.filter(each => each.family === family);
        const verdicts = new Set(own.map(verdictOfCase));
        const expected = verdicts.size > 1 ? 'undecided' : [...verdicts][0]!;
        tally.asked++;
        tally[expected]++;
        if (differsBy.includes('address')) tally.byAddress++;
        expect(
          printedVerdict(printed, from, to, own[0]!.flow),
          JSON.stringify([from.key, to.key, own[0]!.flow]),
        ).toBe(expected);
      }
    }
  };
  fc.assert(fc.property(repositoryArbitrary, fc.nat(1_000), check), {
    numRuns: CLUSTERS,
    endOnFailure: true,
  });
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  for (const count of [tally.undecided, tally.allow, tally.deny])
    expect(count).toBeGreaterThan(tally.asked / 20);
  expect(tally.byAddress).toBeGreaterThan(tally.asked / 50);
}, 900_000);

test('diff says what opens and closes with some addresses of pods, and is sure of what does with all', () => {
  const tally = { empty: 0, opens: 0, closes: 0, undecided: 0 };
  const check = (before: Cluster, other: Cluster, seed: number) => {
    const [dropped] = [...before.policies.keys()].slice(seed % before.policies.size);
    const kept = [...before.policies].filter(([id]) => id !== dropped);
    const after = { ...before, policies: new Map([...kept, ...[...other.policies].slice(0, seed % 3)]) };
    const { changes } = diffOf(asked(before), asked(after), 'allow');
    if (changes.length === 0) tally.empty++;
    const pods = [...before.pods.values()];
    const places = placesFor([before, after]);
    for (let i = 0; i < 12 && pods.length > 1; i++) {
      const [from, to] = [pods[(seed + i) % pods.length]!, pods[(seed + i * 3 + 1) % pods.length]!];
      if (from === to) continue;
      const points = [...pointsOf(before), ...pointsOf(after)];
      const point = points[(seed * 7 + i) % points.length]!;
      const all = places.flatMap(([source]) =>
        places.flatMap(([, destination]) => {
          const flow: Flow = { from: source!, to: destination!, ...point };
          const [was, is] = [before, after].map(cluster => evaluate(placed(cluster, from, to, flow), flow));
          return [[was!.verdict, is!.verdict] as const];
        }),
      );
      const expected = new Set(
        all.map(([was, is]) => (was === is ? 'same' : is === 'allow' ? 'opens' : 'closes')),
      );
      const found = changes.filter(
        each =>
          each.from.includes(`Pod ${from.key}`) &&
          each.to.includes(`Pod ${to.key}`) &&
          each.families.includes('ip') &&
          includesFlow(each.connections, { from: places[0]![0], to: places[0]![1], ...point }),
      );
      for (const kind of ['opens', 'closes'] as const) {
        const some = found.filter(each => each.kind === kind);
        expect(some.length > 0, JSON.stringify([from.key, to.key, point, kind])).toBe(expected.has(kind));
        if (some.length > 0) tally[kind]++;
        if (some.some(each => each.undecided)) tally.undecided++;
        else if (some.length > 0) expect([...expected]).toEqual([kind]);
      }
    }
  };
  const known = repositoryArbitrary.map(cluster => ({
    ...withFewNetworks(cluster),
    namespaces: NAMESPACES,
  }));
  fc.assert(fc.property(known, known, fc.nat(1_000), check), { numRuns: runs(200, 20), endOnFailure: true });
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  for (const count of [tally.opens, tally.closes, tally.undecided]) expect(count).toBeGreaterThan(0);
}, 900_000);

const asked = (cluster: Cluster) => ({
  cluster,
  inventory: NO_INVENTORY,
  knowsInventory: true,
  defaultNamespace: 'a',
  unknownPods: 'allow' as const,
});

const NAMESPACES = new Map(
  ['a', 'b', 'c'].map((name, i) => [
    name,
    { name, labels: { ...(TEAMS[i] && { team: TEAMS[i] }), [NAMESPACE_NAME_LABEL]: name } },
  ]),
);

/** Others would cut the addresses of pods into more parts than are tried one by one. */
const FEW = ['10.0.0.0/8', '10.0.1.0/24', '192.168.0.0/16'].map(text => parseCidr(text)!);

function withFewNetworks(cluster: Cluster): Cluster {
  let count = 0;
  const few = (rules: readonly Rule[] | undefined) =>
    rules?.map(rule => ({
      ...rule,
      peers:
        rule.peers === 'any'
          ? rule.peers
          : rule.peers.map(peer =>
              peer.kind === 'network' ? { ...peer, cidr: FEW[count++ % FEW.length]!, except: [] } : peer,
            ),
    }));
  const policies = [...cluster.policies].map(([id, policy]) => {
    const [ingress, egress] = [few(policy.ingress), few(policy.egress)];
    return [id, { ...policy, ...(ingress && { ingress }), ...(egress && { egress }) }] as const;
  });
  return { ...cluster, policies: new Map(policies) };
}

/** Two IPv4 addresses of each part into which the networks of all policies cut those that pods may get. */
function placesFor(clusters: readonly Cluster[]): [Address, Address][] {
  const networks = clusters.flatMap(({ policies }) =>
    [...policies.values()]
      .flatMap(rulesOf)
      .flatMap(({ peers }) =>
        peers === 'any'
          ? []
          : peers.flatMap(peer => (peer.kind === 'network' ? [peer.cidr, ...peer.except] : [])),
      ),
  );
  const found = new Map<string, [Address, Address]>();
  for (const { family, first, last } of pieces(PRIVATE, networks)) {
    if (family !== 'ip' || first === last) continue;
    const ends = [addressFromInt(family, first), addressFromInt(family, last)] as [Address, Address];
    found.set(String(networks.map(network => cidrContains(network, ends[0]))), ends);
  }
  return [...found.values()];
}

function differencesIn(before: Cluster, after: Cluster, from: Pod, to: Pod, flow: Flow) {
  const ends = [flow.from, flow.to] as const;
  const [old, now] = [before, after].map(cluster => [...completionsOf(cluster, from, to, ends)]);
  return old!.map((each, i) => [evaluate(each, flow).verdict, evaluate(now![i]!, flow).verdict] as const);
}

function printedVerdict({ ends, connections }: PrintedMatrix, from: Pod, to: Pod, flow: Flow) {
  const indexOf = ({ key }: Pod) => ends.findIndex(({ members }) => members.includes(`Pod ${key}`));
  const row = connections.find(each => each.from === indexOf(from) && each.to === indexOf(to));
  if (row === undefined) return 'deny';
  const word = familyWord(flow);
  if (includes(row[word], flow)) return 'allow';
  return includes(row.undecided?.[word] ?? null, flow) ? 'undecided' : 'deny';
}

function verdictsOf(cluster: Cluster, from: Pod, to: Pod, flow: Flow): ReadonlySet<'allow' | 'deny'> {
  const all = [...completionsOf(cluster, from, to, [flow.from, flow.to])].map(
    each => evaluate(each, flow).verdict,
  );
  const { found, undecided } = evaluateAll(placed(cluster, from, to, flow), flow, 'allow');
  expect(undecided === undefined ? [found.verdict] : ['allow', 'deny']).toEqual([...new Set(all)].sort());
  return new Set(all);
}

/** The two pods with the addresses of the flow. */
function placed(cluster: Cluster, from: Pod, to: Pod, flow: Flow): Cluster {
  const pods = new Map(cluster.pods)
    .set(from.key, { ...from, addresses: [flow.from] })
    .set(to.key, { ...to, addresses: [flow.to] });
  return { ...cluster, pods };
}
