import type { ObjectType } from '../report/identity.ts';

/**
 * Kinds that say nothing of a policy, a pod, or whoever makes pods, and that repositories have many and large objects
 * of. No answer reads them, so files are read without them (src/inputs/files/needed.ts).
 */
const UNNEEDED = new Set([
  'v1 ConfigMap',
  'v1 Secret',
  'v1 ServiceAccount',
  'v1 PersistentVolume',
  'v1 PersistentVolumeClaim',
  'admissionregistration.k8s.io/v1 MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration',
  'apiextensions.k8s.io/v1 CustomResourceDefinition',
  'apiextensions.k8s.io/v1beta1 CustomResourceDefinition',
  'monitoring.coreos.com/v1 PrometheusRule',
  'rbac.authorization.k8s.io/v1 ClusterRole',
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding',
  'rbac.authorization.k8s.io/v1 Role',
  'rbac.authorization.k8s.io/v1 RoleBinding',
]);

export function isUnneeded({ apiVersion, kind }: ObjectType): boolean {
  return UNNEEDED.has(`${apiVersion} ${kind}`);
}
