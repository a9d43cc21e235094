/**
 * What `check --fix` writes ends its warning and makes no other one an error, and opens and closes what the warning is
 * about and nothing else: by looking at every pair of pods, and by what `diff` says.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { lint } from '../../src/answers/lint/lint.ts';
import { diffOf } from '../../src/answers/reach/diff/diffview.ts';
import { fixText } from '../../src/inputs/files/fixtext.ts';
import { type LoadedCluster, ManifestCollector } from '../../src/inputs/files/load.ts';
import { getOrMake } from '../../src/lib/collections/getormake.ts';
import { type Address, familyOf, parseAddress } from '../../src/model/address.ts';
import type { Cluster, Pod } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import type { PolicyId } from '../../src/model/policy.ts';
import { type Fix, type Problem, problemText } from '../../src/model/problem.ts';
import { matchesLabels } from '../../src/model/selector.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { runs } from '../support/seed.ts';

const NAMESPACES = ['shop', 'edge', 'kube-system'];
const APPS = ['web', 'api'];
const DNS = { 'k8s-app': 'kube-dns' };

const podArbitrary = fc
  .record({
    namespace: fc.constantFrom(...NAMESPACES),
    labels: fc.oneof(
      fc.constantFrom(...APPS).map(app => ({ app })),
      fc.constant(DNS),
    ),
    port: fc.constantFrom(8080, 5353, 53),
  })
  .map(({ namespace, labels, port }) => (at: number) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `p${at}`, namespace, labels },
    spec: {
      nodeName: 'n1',
      containers: [{ name: 'a', ports: [{ containerPort: port, protocol: protocolOf(port) }] }],
    },
    status: { podIP: `10.9.0.${at + 1}` },
  }));

const protocolOf = (port: number) => (port === 8080 ? 'TCP' : 'UDP');

const serviceArbitrary = fc
  .record({
    namespace: fc.constantFrom(...NAMESPACES),
    app: fc.constantFrom(...APPS, 'kube-dns'),
    port: fc.constantFrom(80, 53),
  })
  .map(({ namespace, app, port }) => (at: number) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `s${at}`, namespace },
    spec: {
      selector: app === 'kube-dns' ? DNS : { app },
      ports: [port === 80 ? { port, targetPort: 8080 } : { port, targetPort: 5353, protocol: 'UDP' }],
    },
  }));

const selectorArbitrary = fc.constantFrom<object>(
  {},
  { matchLabels: { app: 'web' } },
  { matchLabels: { app: 'api' } },
);
const CIDRS = ['0.0.0.0/0', '10.9.0.3/30', '010.9.0.0/24', '203.0.113.5/24', '::ffff:10.9.0.0/120'];

const peerArbitrary = fc.oneof(
  fc.constant({ namespaceSelector: {}, podSelector: { matchLabels: DNS } }),
  selectorArbitrary.map(podSelector => ({ namespaceSelector: {}, podSelector })),
  selectorArbitrary.map(podSelector => ({ podSelector })),
  fc.constantFrom(...CIDRS).map(cidr => ({ ipBlock: { cidr } })),
);

const portArbitrary = fc.constantFrom(
  [{ port: 80 }],
  [{ port: 53, protocol: 'UDP' }],
  [
    { port: 53, protocol: 'UDP' },
    { port: 53, protocol: 'TCP' },
  ],
  [{ port: 443 }, { port: 80 }],
);

const policyArbitrary = fc
  .record({
    namespace: fc.constantFrom(...NAMESPACES),
    podSelector: fc.oneof(selectorArbitrary, fc.constant({ matchLabels: DNS })),
    egress: fc.boolean(),
    rules: fc.array(fc.tuple(fc.array(peerArbitrary, { minLength: 1, maxLength: 2 }), portArbitrary), {
      minLength: 1,
      maxLength: 2,
    }),
  })
  .map(({ namespace, podSelector, egress, rules }) => (at: number) => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: `n${at}`, namespace },
    spec: {
      podSelector,
      policyTypes: [egress ? 'Egress' : 'Ingress'],
      ...(egress
        ? { egress: rules.map(([to, ports]) => ({ to, ports })) }
        : { ingress: rules.map(([from, ports]) => ({ from, ports })) }),
    },
  }));

const namespaces = NAMESPACES.map(name => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));

const folderArbitrary = fc
  .tuple(
    fc.array(podArbitrary, { minLength: 3, maxLength: 6 }),
    fc.array(serviceArbitrary, { maxLength: 3 }),
    fc.array(policyArbitrary, { minLength: 1, maxLength: 3 }),
  )
  .map(all => [...namespaces, ...all.flatMap(some => some.map((make, at) => make(at)))])
  .map(objects => objects.map(object => stringify(object, { aliasDuplicateObjects: false })).join('---\n'));

function checked(text: string): LoadedCluster {
  const collector = new ManifestCollector({ allDocuments: true });
  collector.put('a.yaml', collector.read(text, 'a.yaml'));
  return collector.checked(lint);
}

const OUTSIDE = ['203.0.113.5', '10.9.0.200'].map(text => parseAddress(text)!);
const POINTS = [53, 80, 443, 5353, 8080].flatMap(port =>
  (['TCP', 'UDP'] as const).map(protocol => ({ protocol, port })),
);

interface Turned {
  readonly flow: Flow;
  readonly kind: 'opens' | 'closes';
}

function turned(before: Cluster, after: Cluster): readonly Turned[] {
  const [was, is] = [evaluator(before, 'allow'), evaluator(after, 'allow')];
  const addresses: Address[] = [...[...before.pods.values()].flatMap(pod => pod.addresses), ...OUTSIDE];
  const found: Turned[] = [];
  for (const from of addresses)
    for (const to of addresses)
      for (const point of POINTS) {
        if (from === to || familyOf(from) !== familyOf(to)) continue;
        const flow: Flow = { from, to, ...point };
        const [a, b] = [was(flow).verdict, is(flow).verdict];
        if (a !== b) found.push({ flow, kind: b === 'allow' ? 'opens' : 'closes' });
      }
  return found;
}

function podAt({ pods }: Cluster, address: Address): Pod | undefined {
  return [...pods.values()].find(({ addresses }) => addresses.includes(address));
}

const isDns = (pod: Pod | undefined, inKubeSystem: boolean) =>
  pod?.labels['k8s-app'] === 'kube-dns' && (pod.namespace === 'kube-system') === inKubeSystem;

/** Whether the fix of this warning may open or close this. */
function isMeant(
  cluster: Cluster,
  problem: Problem & { readonly fix: Fix },
  { flow, kind }: Turned,
): boolean {
  const policy = cluster.policies.get(problem.object as PolicyId)!;
  const isEgress = problem.field!.startsWith('spec.egress');
  const [own, other] = isEgress ? [flow.from, flow.to] : [flow.to, flow.from];
  const subject = podAt(cluster, own);
  if (subject === undefined || !policy.name.startsWith(`${subject.namespace}/`)) return false;
  if (!matchesLabels(policy.subject.pods, subject.labels)) return false;
  switch (problem.code) {
    case 'service-port':
      return kind === 'opens'
        ? 'set' in problem.fix && flow.port === problem.fix.set
        : flow.port === 80 || flow.port === 53;
    case 'no-dns':
      return kind === 'opens' && flow.port === 53 && isDns(podAt(cluster, other), true);
    case 'dns-anyone':
      return kind === 'closes' && isDns(podAt(cluster, other), false);
    default:
      return false; // legacy-address: it means what it meant
  }
}

const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'service-port': ['opens', 'closes'],
  'no-dns': ['opens'],
  'dns-anyone': ['closes'],
  'legacy-address': [],
};

const keyOf = ({ code, object, field }: Problem) => `${code} ${object} ${field}`;

const fixesOf = ({ problems }: LoadedCluster) =>
  problems.flatMap(problem =>
    problem.fix === undefined ? [] : [{ ...problem, object: problem.object!, fix: problem.fix }],
  );

test('a fix of check ends its warning, and opens and closes only what the warning is about', () => {
  const tally = new Map<string, { fixed: number; turned: number }>();
  fc.assert(
    fc.property(folderArbitrary, text => {
      const before = checked(text);
      for (const problem of fixesOf(before)) {
        const count = getOrMake(tally, problem.code!, () => ({ fixed: 0, turned: 0 }));
        const { text: mended, made } = fixText(text, [problem]);
        expect([problemText(problem), made.length]).toEqual([problemText(problem), 1]);
        const after = checked(mended);
        expect(after.problems.map(keyOf)).not.toContain(keyOf(problem));
        expect(after.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
        const changed = turned(before.cluster, after.cluster);
        count.fixed++;
        count.turned += changed.length;
        expect(changed.filter(each => !isMeant(before.cluster, problem, each))).toEqual([]);
        const kinds = new Set(diffOf(before, after, 'allow').changes.map(({ kind }) => kind));
        expect(ALLOWED[problem.code!]).toEqual(expect.arrayContaining([...kinds]));
        for (const { kind } of changed) expect(kinds).toContain(kind);
      }
      const all = fixText(text, fixesOf(before));
      // What one fix adds may name a port that another warning is about: a second call mends that.
      const again = fixText(all.text, fixesOf(checked(all.text)));
      expect(fixesOf(checked(again.text)).map(keyOf)).toEqual([]);
    }),
    { numRuns: RUNS },
  );
  process.stdout.write(`    ${JSON.stringify(Object.fromEntries(tally))}\n`);
  for (const code of Object.keys(ALLOWED)) expect(tally.get(code)?.fixed).toBeGreaterThan(RUNS / 50);
  for (const code of ['service-port', 'no-dns', 'dns-anyone'])
    expect(tally.get(code)?.turned).toBeGreaterThan(0);
}, 600_000);

const RUNS = runs(1_500, 150);
