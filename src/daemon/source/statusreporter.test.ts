import { expect, test } from 'vitest';
import { everyStatus } from '../../../test/support/agent/statuses.ts';
import type { EventSpec } from '../../inputs/kube/report/event.ts';
import type { QuarantinedPolicy } from '../../model/policystatus.ts';
import { statusReporter } from './statusreporter.ts';

const web: QuarantinedPolicy = {
  id: 'NetworkPolicy shop/web',
  kind: 'quarantined',
  reason: 'refused',
  detail: 'EINVAL: add rule',
  keepsLastVersion: false,
};
const all: QuarantinedPolicy = {
  id: 'ClusterNetworkPolicy all',
  kind: 'quarantined',
  reason: 'refused',
  detail: 'EMSGSIZE',
  keepsLastVersion: true,
};

test('the author of a policy in quarantine gets one Event, and another for another reason', () => {
  const events: EventSpec[] = [];
  const { policyStatuses } = statusReporter(event => void events.push(event));
  policyStatuses([web]);
  policyStatuses([web, all]);
  policyStatuses([{ ...web, detail: 'ERANGE' }, all]);
  policyStatuses([]);
  expect(events).toEqual([
    {
      about: { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', namespace: 'shop', name: 'web' },
      type: 'Warning',
      reason: 'PolicyRefused',
      note: 'the kernel refuses its rules (EINVAL: add rule); it isolates the pods that it selects and allows nothing until it changes',
    },
    {
      about: { apiVersion: 'policy.networking.k8s.io/v1alpha2', kind: 'ClusterNetworkPolicy', name: 'all' },
      type: 'Warning',
      reason: 'PolicyRefused',
      note: 'the kernel refuses its rules (EMSGSIZE); its last good version stays in force until it changes',
    },
    expect.objectContaining({ note: expect.stringContaining('ERANGE') }),
  ]);
});

test('of policies that are not as their authors wrote them, those that wait for nodes get an Event; others have one', () => {
  const events: EventSpec[] = [];
  const { policyStatuses } = statusReporter(event => void events.push(event));
  const statuses = everyStatus().lasting.filter(({ kind }) => kind !== 'quarantined');
  policyStatuses(statuses);
  policyStatuses([...statuses]);
  expect(events).toEqual([
    {
      about: {
        apiVersion: 'policy.networking.k8s.io/v1alpha2',
        kind: 'ClusterNetworkPolicy',
        name: 'closed',
      },
      type: 'Warning',
      reason: 'PolicyClosed',
      note: 'the nodes have not been read yet, and any address may be one of theirs: a rule that denies or passes nodes denies all',
    },
  ]);
});
