/** Whose connections may be denied now. */
import type { Address } from '../../model/address.ts';

/** Addresses at an end of all connections that may be denied now. */
export type AffectedAddresses = 'nobody' | 'everybody' | ReadonlySet<Address>;

export function merge(a: AffectedAddresses, b: AffectedAddresses): AffectedAddresses {
  if (a === 'nobody' || b === 'everybody') return b;
  return b === 'nobody' || a === 'everybody' ? a : new Set([...a, ...b]);
}

/** Those of `a` that are not among `b`; of everybody all, unless everybody is. */
export function allBut(a: AffectedAddresses, b: AffectedAddresses): AffectedAddresses {
  if (b === 'everybody' || a === 'nobody') return 'nobody';
  return a === 'everybody' || b === 'nobody' ? a : addresses([...a].filter(address => !b.has(address)));
}

/** These addresses; nobody where there are none. */
export function addresses(found: Iterable<Address>): AffectedAddresses {
  const set = new Set(found);
  return set.size === 0 ? 'nobody' : set;
}
