/** Asks the kernel who owns our tables: the port number of one netlink socket (NFTA_TABLE_OWNER), or none. */
import { FAMILIES } from '../../../model/address.ts';
import type { Owner } from '../../../nft/kernel.ts';
import type { TableFamily } from '../../../nft/ruleset.ts';
import { readAttributes, readU32 } from '../wire/attributes.ts';
import type { Message } from '../wire/messages.ts';
import { TABLE } from './constants.ts';
import type { Exchange } from './exchange.ts';
import { OWNED } from './ownership.ts';
import { getTable } from './read-ruleset.ts';

/** `tableFlags` are those that we give our tables on this kernel; `existing` is known to exist. */
export function readOwner(
  exchange: Exchange,
  tableFlags: number,
  existing: readonly { readonly family: TableFamily }[],
): Owner {
  if (tableFlags !== OWNED) return 'everybody';
  // Policy needs the two of IP; the one of bridges is there where pods are on bridges.
  const families = new Set([...FAMILIES, ...existing.map(({ family }) => family)]);
  const owners = Array.from(families, family => ownerOf(getTable(exchange, family)));
  if (owners.includes('another')) return 'another';
  return owners.includes('nobody') ? 'nobody' : 'us';
}

function ownerOf(table: Message | undefined): 'us' | 'another' | 'nobody' {
  const owner = table && readAttributes(table.attributes).get(TABLE.OWNER);
  if (table === undefined || owner === undefined) return 'nobody';
  return readU32(owner) === table.port ? 'us' : 'another';
}
