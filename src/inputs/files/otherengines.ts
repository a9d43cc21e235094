/** Policies of other engines: Sluice reads none of them, and whoever wrote one believes it to be in force. */

import type { Problem } from '../../model/problem.ts';
import type { ObjectType } from '../kube/report/identity.ts';

const ENGINES: readonly (readonly [group: RegExp, engine: string])[] = [
  [/^cilium\.io\//, 'Cilium'],
  [/^(crd\.)?projectcalico\.org\//, 'Calico'],
  [/^(crd|security)\.antrea\.(io|tanzu\.vmware\.com)\//, 'Antrea'],
  [/^k8s\.ovn\.org\//, 'OVN-Kubernetes'],
];

const POLICIES = /Policy$|^EgressFirewall$|^Tier$/;

export function otherEngine({ apiVersion = '', kind = '' }: ObjectType, name: string): Problem | undefined {
  const [, engine] = ENGINES.find(([group]) => group.test(apiVersion)) ?? [];
  if (engine === undefined || !POLICIES.test(kind)) return undefined;
  return {
    severity: 'warning',
    code: 'other-engine',
    object: `${kind} ${name}`,
    field: 'apiVersion',
    message: `is ${apiVersion}, a policy of ${engine}`,
    effect: 'Sluice does not enforce it, and no answer knows of it',
  };
}
