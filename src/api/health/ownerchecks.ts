/** Whether the pods of the cluster agree on whose their addresses are. */

import type { Ours } from '../../kernel/host/facts.ts';
import { type Check, finding } from './check.ts';

/** A warning and no failure: what the kubelet of another node writes must not keep pods from this one. */
export function addressOwnersKnown({ contested = [] }: Pick<Ours, 'contested'>): Check {
  const name = 'address-owners';
  const [first] = contested;
  if (first === undefined) return finding.ok(name, 'no address is reported by pods of two nodes');
  const more = contested.length === 1 ? '' : `, and ${contested.length - 1} more addresses`;
  return finding.warn(
    name,
    `pods of several nodes report one address; it is taken to belong to the first: ${first}${more}`,
    'delete the pod that does not run; if it comes again, see who writes the status of pods of its node',
  );
}
