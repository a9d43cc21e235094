import { type Address, addressFromInt, type Cidr, cidrRange } from './address.ts';

/** The broadcast addresses of IPv4 networks that have one. */
export function broadcastsOf(networks: readonly Cidr[]): Address[] {
  return networks
    .filter(({ family, prefix }) => family === 'ip' && prefix < 31)
    .map(cidr => addressFromInt('ip', cidrRange(cidr).last));
}
