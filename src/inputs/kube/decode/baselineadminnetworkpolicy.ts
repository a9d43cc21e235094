import type { ClusterEvent } from '../../../model/cluster.ts';
import { ADMIN_DIALECT } from './admindialect.ts';
import { type Dialect, decodeClusterPolicy } from './clusterpolicy.ts';
import type { Field } from './fields.ts';

/** policy.networking.k8s.io/v1alpha1. There is one in a cluster, and it is called `default` (C43, 4.23). */
export function decodeBaselineAdminNetworkPolicy(object: Field): ClusterEvent | undefined {
  const name = object.get('metadata').get('name');
  const isDefault = name.value === 'default';
  if (!isDefault) name.warning('must be default', 'the policy is ignored');
  return isDefault ? decodeClusterPolicy(object, DIALECT) : undefined;
}

const DIALECT: Dialect = {
  kind: 'BaselineAdminNetworkPolicy',
  specKeys: [],
  readTier: () => 'baseline',
  readOrder: () => 0,
  actions: { Allow: 'accept', Deny: 'deny' },
  egressPeers: ['namespaces', 'pods', 'nodes', 'networks'],
  ...ADMIN_DIALECT,
};
