/** What is wrong with a policy in quarantine, for its author. */
import { namespaceOfPolicy, type PolicyId, type PolicyKind } from '../../model/policy.ts';
import type { ObjectReference, Problem } from '../../model/problem.ts';
import type { Quarantined } from './quarantine.ts';

export function quarantineProblem({ id, reason, detail, keepsLastVersion }: Quarantined): Problem {
  const hasNoRoom = reason === 'no room';
  const effect = keepsLastVersion
    ? 'its last good version stays in force until it changes'
    : `it isolates the pods that it selects and allows nothing until it changes${hasNoRoom ? ', or there is room' : ''}`;
  const message = hasNoRoom ? detail : `the kernel refuses its rules (${detail})`;
  return { severity: 'error', object: id, about: referenceTo(id), message, effect };
}

const VERSIONS: Record<PolicyKind, string> = {
  NetworkPolicy: 'networking.k8s.io/v1',
  ClusterNetworkPolicy: 'policy.networking.k8s.io/v1alpha2',
  AdminNetworkPolicy: 'policy.networking.k8s.io/v1alpha1',
  BaselineAdminNetworkPolicy: 'policy.networking.k8s.io/v1alpha1',
};

export function referenceTo(id: PolicyId): ObjectReference {
  const [kind, name = ''] = id.split(' ') as [PolicyKind, string];
  const namespace = namespaceOfPolicy(id);
  if (namespace === '') return { apiVersion: VERSIONS[kind], kind, name };
  return { apiVersion: VERSIONS[kind], kind, namespace, name: name.slice(namespace.length + 1) };
}
