/** The labels of a pod that the next pod of its workload has too. */
import type { Labels } from '../../model/labels.ts';

/** Controllers write them, for one revision, one run or one pod. */
const OF_ONE_REVISION = new Set([
  'pod-template-hash',
  'pod-template-generation',
  'controller-revision-hash',
  'controller-uid',
  'job-name',
  'statefulset.kubernetes.io/pod-name',
  'apps.kubernetes.io/pod-index',
  'batch.kubernetes.io/controller-uid',
  'batch.kubernetes.io/job-name',
  'batch.kubernetes.io/job-completion-index',
]);

export function stableLabels(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !OF_ONE_REVISION.has(key)));
}
