import { expect, test } from 'vitest';
import type { Labels } from './labels.ts';
import { workloadByLabels } from './workloadbylabels.ts';

const HASH = { 'pod-template-hash': '7d4b9c6f5' };
const REVISION = { 'controller-revision-hash': '6c8f' };

test.each<[string, Labels, string | undefined]>([
  ['web-7d4b9c6f5-x2x9k', HASH, 'Deployment shop/web'],
  ['web-7d4b9c6f5-web-7d4b9c6f5-x2x9k', HASH, 'Deployment shop/web-7d4b9c6f5-web'],
  ['db-0', { ...REVISION, 'statefulset.kubernetes.io/pod-name': 'db-0' }, 'StatefulSet shop/db'],
  ['backup-29-abcde', { 'batch.kubernetes.io/job-name': 'backup-29' }, 'Job shop/backup-29'],
  ['backup-29-abcde', { 'job-name': 'backup-29' }, 'Job shop/backup-29'],
  ['agent-x2x9k', REVISION, 'DaemonSet shop/agent'],
  ['web', {}, undefined],
  ['web', HASH, undefined],
  ['-7d4b9c6f5-x2x9k', HASH, undefined],
  ['db-0', { 'statefulset.kubernetes.io/pod-name': 'db-1' }, undefined],
  ['agent', REVISION, undefined],
  ['x', { 'job-name': '' }, undefined],
])('the workload of %s by its labels', (name, labels, expected) => {
  expect(workloadByLabels({ namespace: 'shop', name, labels })).toBe(expected);
});
