import type { ClusterEvent } from '../../../model/cluster.ts';
import { ADMIN_DIALECT } from './admindialect.ts';
import { type Dialect, decodeClusterPolicy } from './clusterpolicy.ts';
import type { Field } from './fields.ts';
import { readPriority } from './priority.ts';

/** policy.networking.k8s.io/v1alpha1. */
export function decodeAdminNetworkPolicy(object: Field): ClusterEvent | undefined {
  return decodeClusterPolicy(object, DIALECT);
}

const DIALECT: Dialect = {
  kind: 'AdminNetworkPolicy',
  specKeys: ['priority'],
  readTier: () => 'admin',
  readOrder: readPriority,
  actions: { Allow: 'accept', Deny: 'deny', Pass: 'pass' },
  egressPeers: ['namespaces', 'pods', 'nodes', 'networks', 'domainNames'],
  ...ADMIN_DIALECT,
};
