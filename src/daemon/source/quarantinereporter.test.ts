import { expect, test } from 'vitest';
import type { EventSpec } from '../../inputs/kube/report/event.ts';
import type { QuarantinedPolicy } from '../../model/policystatus.ts';
import { quarantineReporter } from './quarantinereporter.ts';

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
  const { quarantined } = quarantineReporter(event => void events.push(event));
  quarantined([web]);
  quarantined([web, all]);
  quarantined([{ ...web, detail: 'ERANGE' }, all]);
  quarantined([]);
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
