import { networkInterfaces } from 'node:os';
import { type Address, parseAddress } from '../../model/address.ts';

/** The addresses of all interfaces of this network namespace. */
export function ownAddresses(): Set<Address> {
  const infos = Object.values(networkInterfaces()).flatMap(found => found ?? []);
  return new Set(infos.flatMap(({ address }) => parseAddress(address) ?? []));
}
