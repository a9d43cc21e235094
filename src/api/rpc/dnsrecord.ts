/** A DNS record as it goes over the socket. */
import type { Address } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { DnsRecord } from '../../names/dnscache.ts';
import type { ToldName } from './messages.ts';

export function encodeRecord({ pod, name, oneOf, address, toldMs, untilMs, from }: DnsRecord): ToldName {
  return {
    pod,
    name: oneOf === undefined ? name : '',
    one_of: oneOf ?? [],
    address,
    told_at_ms: Math.round(toldMs),
    until_ms: Math.round(untilMs),
    from: from ?? '',
  };
}

export function decodeRecord({
  pod,
  name,
  one_of,
  address,
  told_at_ms,
  until_ms,
  from,
}: ToldName): DnsRecord {
  return {
    pod: pod as PodKey,
    name,
    address: address as Address,
    toldMs: told_at_ms,
    untilMs: until_ms,
    ...(one_of.length > 0 && { oneOf: one_of }),
    ...(from !== '' && { from: from as Address }),
  };
}
