import { type Address, addressFromInt, type Cidr, cidrRange } from './address.ts';

/** Of a network of IPv4, where it has one. */
export function broadcastsOf(networks: readonly Cidr[]): Address[] {
  return networks
    .filter(({ family, prefix }) => family === 'ip' && prefix < 31)
    .map(cidr => addressFromInt('ip', cidrRange(cidr).last));
}
