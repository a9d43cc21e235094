import type { Address } from '../../model/address.ts';
import type { Cluster, Told } from '../../model/cluster.ts';
import { matchesDomainName } from '../../model/domainname.ts';

/** As if DNS had told every pod these addresses, each under its name. */
export function asIfTold({ told }: Cluster, names: ReadonlyMap<Address, string>): Told {
  return {
    has: (pod, address, pattern) => {
      const name = names.get(address);
      if (name !== undefined && matchesDomainName(pattern, name)) return true;
      return told?.has(pod, address, pattern) ?? false;
    },
  };
}
