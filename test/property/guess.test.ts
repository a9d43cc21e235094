/** Policies guessed from manifests allow what these name, and nothing else; and nobody would complain of them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { guessConnections } from '../../src/answers/guess/guess.ts';
import { policiesFor } from '../../src/answers/guess/policies.ts';
import { lint } from '../../src/answers/lint/lint.ts';
import { ManifestCollector } from '../../src/inputs/files/load.ts';
import { referencesIn } from '../../src/inputs/files/references.ts';
import { decodeObject } from '../../src/inputs/kube/decode/decode.ts';
import type { Address } from '../../src/model/address.ts';
import { type Cluster, ClusterState } from '../../src/model/cluster.ts';
import { problemText } from '../../src/model/problem.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { runs } from '../support/seed.ts';

interface App {
  readonly name: string;
  readonly namespace: string;
  readonly port: number;
  /** The Service's port; its target is the number, or the port's name. */
  readonly servicePort: number;
  readonly isNamed: boolean;
  readonly isHeadless: boolean;
  readonly isOpen: boolean;
  /** Without a label: no policy can name it, so nothing isolates it, and no rule at another end names it. */
  readonly isBare: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

/** Whom an application names, and how. */
interface Call {
  readonly from: number;
  readonly to: number;
  readonly form: number;
}

const appArbitrary = (index: number) =>
  fc.record({
    name: fc.constant(`app${index}`),
    namespace: fc.constantFrom('shop', 'data'),
    port: fc.constantFrom(80, 5432, 8080),
    servicePort: fc.constantFrom(80, 81, 5432),
    isNamed: fc.boolean(),
    isHeadless: fc.boolean(),
    isOpen: fc.boolean(),
    isBare: fc.integer({ max: 9, min: 0 }).map(n => n === 0),
    labels: fc
      .constantFrom({}, { tier: 'x' }, { tier: 'x', team: 'y' })
      .map(labels => ({ app: `a${Math.floor(index / 2)}`, part: `p${index}`, ...labels })),
  });

const labelsOf = ({ isBare, labels }: App): App['labels'] => (isBare ? {} : labels);

const worldArbitrary = fc.integer({ min: 2, max: 5 }).chain(count =>
  fc.record({
    apps: fc.tuple(...Array.from({ length: count }, (_, index) => appArbitrary(index))),
    calls: fc.array(fc.record({ from: fc.nat(count - 1), to: fc.nat(count - 1), form: fc.nat(7) }), {
      maxLength: 6,
    }),
  }),
);

/** A client of a headless Service dials the pods' own port. */
const dialledPort = ({ isHeadless, port, servicePort }: App) => (isHeadless ? port : servicePort);

interface Said {
  readonly env?: readonly object[];
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly config?: Readonly<Record<string, string>>;
}

/** Variables, arguments and a ConfigMap, each naming the Service of the other in another way. */
function said(own: App, { name, namespace, ...rest }: App, form: number, index: number): Said {
  const port = dialledPort({ name, namespace, ...rest });
  const near = own.namespace === namespace ? name : `${name}.${namespace}`;
  const variable = (value: string) => ({ env: [{ name: `V${index}_URL`, value }] });
  switch (form) {
    case 0:
      return variable(`http://${near}:${port}/path?x=1`);
    case 1:
      return variable(`${name}.${namespace}.svc:${port}`);
    case 2:
      return variable(`jdbc:postgresql://user:secret@${name}.${namespace}.svc.cluster.local:${port}/db`);
    case 3:
      return {
        env: [
          { name: `V${index}_HOST`, value: `${name}.${namespace}` },
          { name: `V${index}_PORT`, value: String(port) },
        ],
      };
    case 4:
      return { args: [`--backend${index}=${near}:${port}`] };
    case 5:
      return { args: ['--upstream', `tcp://${near}:${port}`] };
    case 6:
      return { config: { [`v${index}.conf`]: `listen 8080;\nproxy_pass http://${near}:${port};\n` } };
    default:
      return { command: ['sh', '-c', `until nc ${near}:${port}; do sleep 1; done`] };
  }
}

function manifestsOf(apps: readonly App[], calls: readonly Call[]): object[] {
  const namespaces = [...new Set(apps.map(({ namespace }) => namespace)), 'kube-system'].map(name => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  }));
  return [...namespaces, ...apps.flatMap((app, index) => objectsOf(app, index, apps, calls))];
}

function objectsOf(app: App, index: number, apps: readonly App[], calls: readonly Call[]): object[] {
  const { name, namespace, port, servicePort, isNamed, isHeadless, isOpen } = app;
  const labels = labelsOf(app);
  const its = calls.flatMap(({ from, to, form }, at) =>
    from === index ? [said(app, apps[to]!, form, at)] : [],
  );
  const config = Object.assign({}, ...its.map(({ config }) => config ?? {}));
  const metadata = { name, namespace };
  const container = {
    name: 'c',
    ports: [{ containerPort: port, ...(isNamed && { name: 'main' }) }],
    env: its.flatMap(({ env = [] }) => env),
    args: its.flatMap(({ args = [] }) => args),
    command: its.flatMap(({ command = [] }) => command),
    envFrom: [{ configMapRef: { name } }],
  };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        ...(!app.isBare && { selector: { matchLabels: labels } }),
        template: { metadata: { labels }, spec: { containers: [container] } },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: {
        selector: app.isBare ? { app: 'nobody' } : labels,
        ...(isHeadless && { clusterIP: 'None' }),
        ...(isOpen && !isHeadless && { type: 'LoadBalancer' }),
        ports: [{ name: 'main', port: isHeadless ? port : servicePort, targetPort: isNamed ? 'main' : port }],
      },
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: config },
  ];
}

const textOf = (objects: readonly object[]) => objects.map(object => JSON.stringify(object)).join('\n---\n');

/** Each application as a pod with an address, beside the DNS of the cluster and somebody outside. */
function clusterOf(apps: readonly App[], policies: Cluster['policies'], base: Cluster): Cluster {
  const pods = new Map(base.pods);
  const add = (namespace: string, name: string, address: Address, labels: App['labels'], ports: App[] = []) =>
    pods.set(`${namespace}/${name}`, {
      key: `${namespace}/${name}`,
      namespace,
      name,
      labels,
      node: '',
      addresses: [address],
      hostNetwork: false,
      finished: false,
      createdAt: '',
      ports: ports.map(({ port }) => ({ name: 'main', protocol: 'TCP' as const, port })),
    });
  for (const [i, app] of apps.entries())
    add(app.namespace, app.name, addressOf(i), labelsOf(app), app.isNamed ? [app] : []);
  add('kube-system', 'dns', DNS, { 'k8s-app': 'kube-dns' });
  add('kube-system', 'other', OTHER, { 'k8s-app': 'other' });
  return { ...base, pods, policies };
}

const addressOf = (index: number) => `10.0.0.${index + 1}` as Address;
const DNS = '10.0.1.1' as Address;
const OTHER = '10.0.1.2' as Address;
const OUTSIDE = '192.0.2.1' as Address;

test('what manifests name is allowed, nothing else is, and check has no complaint', () => {
  const tally = { allowed: 0, denied: 0, calls: 0, bare: 0 };
  fc.assert(
    fc.property(worldArbitrary, ({ apps, calls }) => {
      const text = textOf(manifestsOf(apps, calls));
      const collector = new ManifestCollector();
      collector.put('app.json', collector.read(text, 'app.json'));
      const { cluster, inventory, problems } = collector.loaded();
      expect(problems.map(problemText)).toEqual([]);
      const view = {
        cluster,
        inventory,
        knowsInventory: true,
        defaultNamespace: 'default',
        unknownPods: 'allow' as const,
      };
      const suggested = policiesFor({ cluster, inventory }, guessConnections(view, referencesIn(text)));
      const state = new ClusterState();
      for (const { object } of suggested.objects) {
        const { event, problems: wrong } = decodeObject(object);
        expect(wrong).toEqual([]);
        state.apply(event!);
      }
      const whole = { ...cluster, policies: state.policies };
      const { length: bare } = apps.filter(({ isBare }) => isBare);
      // A Service of a bare one selects nobody.
      const complaints = lint(whole, inventory, []).filter(
        ({ code }) => bare === 0 || code !== 'empty-service',
      );
      expect(complaints.map(problemText)).toEqual([]);
      tally.bare += bare;
      const evaluate = evaluator(clusterOf(apps, state.policies, cluster), 'allow');
      const expected = new Set(calls.map(({ from, to }) => `${from} ${to} ${apps[to]!.port}`));
      tally.calls += calls.length;
      const ends = [...apps.keys(), 'dns', 'other', 'outside'] as const;
      const at = (end: (typeof ends)[number]) =>
        typeof end === 'number' ? addressOf(end) : { dns: DNS, other: OTHER, outside: OUTSIDE }[end];
      for (const from of ends)
        for (const to of ends)
          for (const protocol of ['TCP', 'UDP'] as const)
            for (const port of [53, 80, 81, 5432, 8080, 9999]) {
              if (from === to || (typeof from !== 'number' && typeof to !== 'number')) continue;
              const target = typeof to === 'number' ? apps[to]! : undefined;
              const source = typeof from === 'number' ? apps[from]! : undefined;
              const isNamed =
                !target?.isBare &&
                !source?.isBare &&
                protocol === 'TCP' &&
                expected.has(`${from} ${to} ${port}`);
              const isDns = to === 'dns' && port === 53;
              const isIn = target?.isOpen && !target.isHeadless && protocol === 'TCP' && port === target.port;
              // Whoever is outside may come; a pod here has to be allowed to go.
              const mayGo = !source || source.isBare || isNamed || isDns;
              const mayCome = !target || target.isBare || isNamed || isIn;
              const wanted = mayGo && mayCome ? 'allow' : 'deny';
              const { verdict } = evaluate({ from: at(from), to: at(to), protocol, port });
              expect([from, to, protocol, port, verdict]).toEqual([from, to, protocol, port, wanted]);
              tally[verdict === 'allow' ? 'allowed' : 'denied']++;
            }
    }),
    { numRuns: runs(300, 30) },
  );
  expect(tally.calls).toBeGreaterThan(runs(300, 30));
  expect(tally.bare).toBeGreaterThan(runs(30, 3));
  expect(tally.allowed).toBeGreaterThan(runs(300, 30));
  expect(tally.denied).toBeGreaterThan(runs(3000, 300));
});
