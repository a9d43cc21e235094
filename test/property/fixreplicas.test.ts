/**
 * What `explain --fix` writes for workloads and Services allows the pod of every replica count from 0 to 10, after a rollout
 * too, and nothing that was not asked for.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answer } from '../../src/answers/questions/answer.ts';
import { fixOf } from '../../src/answers/questions/explanation.ts';
import type { Fix } from '../../src/answers/questions/fix/fix.ts';
import type { Address } from '../../src/model/address.ts';
import type { Cluster, Pod } from '../../src/model/cluster.ts';
import { matchesLabels } from '../../src/model/selector.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { clusterView } from '../support/questions/clusterview.ts';
import { runs } from '../support/seed.ts';

const KINDS = ['Deployment', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob'] as const;
type Kind = (typeof KINDS)[number];
type Labels = Record<string, string>;

interface Program {
  readonly name: string;
  readonly namespace: string;
  readonly kind: Kind;
  readonly labels: Labels;
  /** Keys of its labels, by which it selects its pods. */
  readonly selects: readonly string[];
  readonly replicas: number;
}

/** Few values, so that the labels of one are often a part of another's; sometimes none. */
const someLabels: fc.Arbitrary<Labels> = fc
  .tuple(
    fc.constantFrom('web', 'db', undefined),
    fc.constantFrom('x', 'y', undefined),
    fc.constantFrom('canary', undefined),
  )
  .map(([app, tier, track]) => ({ ...(app && { app }), ...(tier && { tier }), ...(track && { track }) }));

const labelsArbitrary = fc.oneof(
  { weight: 5, arbitrary: someLabels },
  { weight: 1, arbitrary: fc.constant<Labels>({}) },
);

const programs = fc
  .array(
    fc.record({
      namespace: fc.constantFrom('shop', 'data'),
      kind: fc.constantFrom(...KINDS),
      labels: labelsArbitrary,
      replicas: fc.nat(3),
      keys: fc.nat(),
    }),
    { minLength: 2, maxLength: 5 },
  )
  .map(all =>
    all.map(({ keys, ...each }, at): Program => {
      const known = Object.keys(each.labels);
      return { ...each, name: `p${at}`, selects: known.slice(0, 1 + (keys % Math.max(1, known.length))) };
    }),
  );

const picked = (labels: Labels, keys: readonly string[]) =>
  Object.fromEntries(keys.flatMap(key => (labels[key] === undefined ? [] : [[key, labels[key]]])));

/** The labels that Kubernetes writes beside those of the template. */
function added({ kind, name }: Program, n: number, rollout: number): Labels {
  const hash = `${rollout}f9`;
  switch (kind) {
    case 'Deployment':
      return { 'pod-template-hash': hash };
    case 'StatefulSet':
      return {
        'controller-revision-hash': `${name}-${hash}`,
        'apps.kubernetes.io/pod-index': `${n}`,
        'statefulset.kubernetes.io/pod-name': `${name}-${n}`,
      };
    case 'DaemonSet':
      return { 'controller-revision-hash': hash, 'pod-template-generation': `${rollout}` };
    default:
      return {
        'job-name': `${name}-${rollout}`,
        'batch.kubernetes.io/job-name': `${name}-${rollout}`,
        'controller-uid': `${rollout}-1`,
        'batch.kubernetes.io/controller-uid': `${rollout}-1`,
        'batch.kubernetes.io/job-completion-index': `${n}`,
      };
  }
}

function podName({ kind, name }: Program, n: number, rollout: number): string {
  return kind === 'StatefulSet' ? `${name}-${n}` : `${name}-${rollout}f9-aaa${n}`;
}

const controller = ({ kind, name }: Program, rollout: number) => {
  if (kind === 'Deployment') return { kind: 'ReplicaSet', name: `${name}-${rollout}f9` };
  return kind === 'CronJob' ? { kind: 'Job', name: `${name}-${rollout}` } : { kind, name };
};

function workloadObject({ kind, namespace, name, labels, selects, replicas }: Program): object {
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c' }] } };
  const selector = { matchLabels: picked(labels, selects) };
  const hasSelector = kind !== 'Job' && kind !== 'CronJob';
  return {
    apiVersion: hasSelector ? 'apps/v1' : 'batch/v1',
    kind,
    metadata: { name, namespace },
    spec:
      kind === 'CronJob'
        ? { jobTemplate: { spec: { template } } }
        : { template, replicas, ...(hasSelector && { selector }) },
  };
}

function podObject(program: Program, at: number, n: number, rollout: number): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: podName(program, n, rollout),
      namespace: program.namespace,
      labels: { ...program.labels, ...added(program, n, rollout) },
      ownerReferences: [{ apiVersion: 'v1', ...controller(program, rollout), controller: true }],
    },
    spec: { nodeName: 'n1', containers: [{ name: 'c' }] },
    status: { podIPs: [{ ip: `10.1.${at}.${n + 1}` }] },
  };
}

const jobOf = ({ kind, name, namespace }: Program, rollout: number) =>
  kind !== 'CronJob'
    ? []
    : [
        {
          apiVersion: 'batch/v1',
          kind: 'Job',
          metadata: {
            name: `${name}-${rollout}`,
            namespace,
            ownerReferences: [{ apiVersion: 'batch/v1', kind, name, controller: true }],
          },
          spec: { template: { metadata: {}, spec: {} } },
        },
      ];

const FIXED: readonly object[] = ['shop', 'data'].flatMap(namespace => [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'closed', namespace },
    spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
  },
]);

function viewOf(
  all: readonly Program[],
  service: object,
  replicasOf: (at: number) => number,
  rollout: number,
) {
  const pods = all.flatMap((each, at) =>
    Array.from({ length: replicasOf(at) }, (_, n) => podObject(each, at, n, rollout)),
  );
  const jobs = all.flatMap((each, at) => (replicasOf(at) > 0 ? jobOf(each, rollout) : []));
  const objects = [...FIXED, ...all.map(workloadObject), ...jobs, service, ...pods];
  return clusterView(objects.map(object => JSON.stringify(object)).join('\n---\n'));
}

function withPolicies(cluster: Cluster, objects: Fix['objects']): Cluster {
  const { cluster: added } = clusterView(objects.map(object => JSON.stringify(object)).join('\n---\n'));
  return { ...cluster, policies: new Map([...cluster.policies, ...added.policies]) };
}

const isOf = ({ namespace }: Program, at: number, pod: Pod) =>
  pod.namespace === namespace && pod.addresses[0]!.startsWith(`10.1.${at}.`);

/** No selector can tell these apart. */
const sameLabels = (one: Program, other: Program) =>
  one.namespace === other.namespace &&
  JSON.stringify(Object.entries(one.labels).sort()) === JSON.stringify(Object.entries(other.labels).sort());

const tally = { fixed: 0, refused: 0, opened: 0, kept: 0 };

function check(all: readonly Program[], toService: boolean, keys: number): void {
  const [from, to] = all as [Program, Program];
  const known = Object.keys(to.labels);
  const selector = picked(to.labels, known.slice(0, 1 + (keys % Math.max(1, known.length))));
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's', namespace: to.namespace },
    spec: { selector, ports: [{ port: 5432 }] },
  };
  const view = viewOf(all, service, at => all[at]!.replicas, 1);
  const target = toService ? `${to.namespace}/svc/s:5432` : `${to.namespace}/${to.kind}/${to.name}:5432`;
  const fix = fixOf(answer(view, { from: `${from.namespace}/${from.kind}/${from.name}`, to: target }), view);
  const isNameless = [from, to].some(({ labels }) => Object.keys(labels).length === 0);
  if (typeof fix === 'string') {
    tally.refused++;
    expect([fix, isNameless]).toEqual([fix, true]);
    return;
  }
  tally.fixed++;
  expect(fix.objects.length).toBe(2);
  const isFrom = (pod: Pod) =>
    all.some((each, at) => isOf(each, at, pod) && (each === from || sameLabels(each, from)));
  const requirements = Object.entries(selector).map(
    ([key, value]) => ({ key, operator: 'In', values: [value!] }) as const,
  );
  const isBehind = (pod: Pod) =>
    pod.namespace === to.namespace && matchesLabels({ requirements }, pod.labels);
  const isTo = (pod: Pod) =>
    toService
      ? isBehind(pod)
      : all.some((each, at) => isOf(each, at, pod) && (each === to || sameLabels(each, to)));
  for (let replicas = 0; replicas <= 10; replicas++) {
    const { cluster } = viewOf(all, service, at => (at < 2 ? replicas : 1), 1 + (replicas % 2));
    const is = evaluator(withPolicies(cluster, fix.objects), 'allow');
    const pods = [...cluster.pods.values()];
    for (const one of pods)
      for (const other of pods) {
        if (one === other) continue;
        const flow = {
          from: one.addresses[0] as Address,
          to: other.addresses[0] as Address,
          protocol: 'TCP' as const,
        };
        const wanted = isFrom(one) && isTo(other) ? 'allow' : 'deny';
        expect([one.key, other.key, is({ ...flow, port: 5432 }).verdict]).toEqual([
          one.key,
          other.key,
          wanted,
        ]);
        if (wanted === 'allow') expect(is({ ...flow, port: 80 }).verdict).toBe('deny');
        tally[wanted === 'allow' ? 'opened' : 'kept']++;
      }
  }
}

test('a fix is for the pods of any number of replicas, and for nobody else', () => {
  fc.assert(
    fc.property(programs, fc.boolean(), fc.nat(), (all, toService, keys) => check(all, toService, keys)),
    { numRuns: runs(400), interruptAfterTimeLimit: 60_000 },
  );
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(Math.min(tally.fixed, 3 * tally.refused)).toBeGreaterThan(runs(100));
}, 120_000);
