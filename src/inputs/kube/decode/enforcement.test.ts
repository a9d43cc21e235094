import { expect, test } from 'vitest';
import { ClusterState } from '../../../model/cluster.ts';
import type { Policy } from '../../../model/policy.ts';
import { Skimmer } from '../client/skim.ts';
import { shapeOf } from '../watch/shapes.ts';
import { decodeObject } from './decode.ts';

const KINDS = {
  NetworkPolicy: ['networking.k8s.io/v1', { podSelector: {} }],
  ClusterNetworkPolicy: [
    'policy.networking.k8s.io/v1alpha2',
    { tier: 'Admin', priority: 1, subject: { namespaces: {} } },
  ],
  AdminNetworkPolicy: ['policy.networking.k8s.io/v1alpha1', { priority: 1, subject: { namespaces: {} } }],
  BaselineAdminNetworkPolicy: ['policy.networking.k8s.io/v1alpha1', { subject: { namespaces: {} } }],
} as const;

const object = (kind: keyof typeof KINDS, annotations: unknown) => ({
  apiVersion: KINDS[kind][0],
  kind,
  metadata: { name: 'default', ...(kind === 'NetworkPolicy' && { namespace: 'shop' }), annotations },
  spec: KINDS[kind][1],
});
/** The object as read from an API server, of which only some fields are kept. */
function skimmed(value: { readonly kind: string }): unknown {
  const skimmer = new Skimmer(shapeOf(value.kind));
  skimmer.push(Buffer.from(`${JSON.stringify(value)}\n`));
  return skimmer.value();
}
const read = (kind: keyof typeof KINDS, annotations: unknown) => {
  const { event, problems } = decodeObject(skimmed(object(kind, annotations)));
  return { policy: event?.value as Policy, event: event!, problems };
};

test.each(Object.keys(KINDS) as (keyof typeof KINDS)[])('%s: audit is audited, and not in force', kind => {
  const { policy, event, problems } = read(kind, { 'sluice.dev/enforcement': 'audit' });
  expect([policy.audited, problems]).toEqual([true, []]);
  const cluster = new ClusterState();
  cluster.apply(event);
  expect([[...cluster.policies.keys()], [...cluster.audited.keys()]]).toEqual([[], [policy.id]]);
  cluster.apply(read(kind, { 'sluice.dev/enforcement': 'enforce' }).event);
  expect([[...cluster.policies.keys()], [...cluster.audited.keys()]]).toEqual([[policy.id], []]);
});

test.each([
  ['Audit', '"Audit"'],
  ['audit ', '"audit "'],
  ['', '""'],
  ['off', '"off"'],
  [true, 'true'],
  [['audit'], 'a list'],
])('%j is enforced, and a problem is told', (value, text) => {
  const { policy, problems } = read('NetworkPolicy', { 'sluice.dev/enforcement': value });
  expect(policy.audited).toBeUndefined();
  expect(problems).toEqual([
    expect.objectContaining({
      severity: 'warning',
      field: 'metadata.annotations.sluice.dev/enforcement',
      message: `must be audit or enforce, not ${text}`,
      effect: 'the policy is enforced',
    }),
  ]);
});

test.each([
  [undefined],
  [null],
  [[]],
  ['audit'],
  [{ 'sluice.dev/enforcement': null }],
  [{ enforcement: 'audit' }],
])('annotations %j: enforced, without a word', annotations => {
  const { policy, problems } = read('NetworkPolicy', annotations);
  expect([policy.audited, problems]).toEqual([undefined, []]);
});
