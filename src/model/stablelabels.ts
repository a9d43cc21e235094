/** The labels of a pod that the next pod of its workload has too: no policy should select by others. */
import type { Labels } from './labels.ts';

/** Controllers write them, for one revision, one run, one pod or the place where it runs. */
const OF_THE_MOMENT = new Set([
  'pod-template-hash',
  'pod-template-generation',
  'controller-revision-hash',
  'statefulset.kubernetes.io/pod-name',
  'apps.kubernetes.io/pod-index',
  // Of a Job, in the spelling of before Kubernetes 1.27 too.
  'controller-uid',
  'job-name',
  'batch.kubernetes.io/controller-uid',
  'batch.kubernetes.io/job-name',
  'batch.kubernetes.io/job-completion-index',
  // Of the node: the API server copies them to each pod.
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  // Of other controllers whose workloads are read: Argo Rollouts, Knative, KubeVirt.
  'rollouts-pod-template-hash',
  'serving.knative.dev/revision',
  'serving.knative.dev/revisionUID',
  'serving.knative.dev/configurationGeneration',
  'serving.knative.dev/configurationUID',
  'serving.knative.dev/serviceUID',
  'kubevirt.io/created-by',
  'kubevirt.io/nodeName',
]);

export function isStableLabel(key: string): boolean {
  return !OF_THE_MOMENT.has(key);
}

export function stableLabels(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => isStableLabel(key)));
}
