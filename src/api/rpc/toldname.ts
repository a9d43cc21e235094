/** What a pod was told, as it goes over the socket. */
import type { Address } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { ToldFact } from '../../names/toldfacts.ts';
import type { ToldName } from './messages.ts';

export function toldName({ pod, name, oneOf, address, toldMs, untilMs, from }: ToldFact): ToldName {
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

export function factOf({ pod, name, one_of, address, told_at_ms, until_ms, from }: ToldName): ToldFact {
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
