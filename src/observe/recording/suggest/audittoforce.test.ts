/** The way from an audited policy to one in force: audit, record, suggest, apply. */
import { expect, test } from 'vitest';
import { address } from '../../../../bench/lab/topology.ts';
import { clusterView } from '../../../../test/support/questions/clusterview.ts';
import { recorded } from '../../../../test/support/recorded.ts';
import type { Cluster } from '../../../model/cluster.ts';
import { evaluator } from '../../../semantics/evaluate.ts';
import { suggestPolicies } from './suggest.ts';

const PODS = { web: '10.0.0.1', db: '10.0.0.2', lone: '10.0.0.3' };
const pods = Object.entries(PODS).map(([name, ip]) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'shop', labels: { app: name } } },
  ...{ spec: { nodeName: 'n1', containers: [{ name: 'c' }] }, status: { podIPs: [{ ip }] } },
}));

interface Applied {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: object;
}

const audited = (name: string): Applied & object => ({
  ...{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' },
  metadata: {
    name,
    namespace: 'shop',
    annotations: { 'sluice.dev/enforcement': 'audit' },
  } as Applied['metadata'],
  spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
});

/** As `kubectl apply` does it: annotations that somebody else made stay, unless the new object has them. */
function applied(there: readonly Applied[], suggested: readonly Applied[]): readonly Applied[] {
  const byName = new Map(there.map(policy => [policy.metadata.name, policy]));
  for (const policy of suggested) {
    const { annotations } = byName.get(policy.metadata.name)?.metadata ?? {};
    const metadata = { ...policy.metadata, annotations: { ...annotations, ...policy.metadata.annotations } };
    byName.set(policy.metadata.name, { ...policy, metadata });
  }
  return [...byName.values()];
}

const clusterOf = (policies: readonly object[]): Cluster =>
  clusterView([...pods, ...policies].map(each => JSON.stringify(each)).join('\n---\n')).cluster;

const verdict = (cluster: Cluster, from: keyof typeof PODS, to: keyof typeof PODS, port = 5432) =>
  evaluator(
    cluster,
    'allow',
  )({
    ...{ from: address(PODS[from]), to: address(PODS[to]) },
    ...{ protocol: 'TCP', port },
  }).verdict;

test.each([['default-deny'], ['suggested-default-deny'], ['allow-db']])(
  'what is suggested is in force although a policy %s was audited before',
  name => {
    const before = clusterOf([audited(name)]);
    expect(verdict(before, 'lone', 'db')).toBe('allow');
    const flow = { from: address(PODS.web), to: address(PODS.db), protocol: 'TCP', port: 5432 } as const;
    const { objects } = suggestPolicies(recorded(before, 'allow', [flow]), 'shop');
    const after = clusterOf(applied([audited(name)], objects as Applied[]));
    const verdicts = [
      verdict(after, 'web', 'db'),
      verdict(after, 'web', 'db', 22),
      verdict(after, 'lone', 'db'),
      verdict(after, 'web', 'lone'),
    ];
    expect(verdicts).toEqual(['allow', 'deny', 'deny', 'deny']);
    const left = [...(after.audited?.keys() ?? [])];
    expect(left).toEqual(name === 'default-deny' ? ['NetworkPolicy shop/default-deny'] : []);
  },
);
