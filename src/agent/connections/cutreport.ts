/** The line of the log about connections that were cut. */
import type { Address } from '../../model/address.ts';
import { familyOf } from '../../model/address.ts';
import { ownerOf } from '../../model/addressowners.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { Connection } from '../../nft/conntrack.ts';
import { flowText } from '../../semantics/flowtext.ts';

const MOST_NAMED = 5;
const MOST_LOOKED_AT = 100;

/** `cut 6 connections that policy denies now: shop/web -> shop/db:80/TCP, …`. */
export function cutText(cut: number, denied: readonly Connection[], cluster: Cluster): string {
  const some = denied.slice(0, MOST_LOOKED_AT).map(({ flow }) => flow);
  const flows = [...new Map(some.map(flow => [flowText(flow), flow])).values()];
  const shown = flows.slice(0, MOST_NAMED);
  const owners = ownersOf(cluster, new Set(shown.flatMap(({ from, to }) => [from, to])));
  const names = shown.map(flow => namedFlow(flow, owners)).join(', ');
  const more = flows.length > shown.length || denied.length > MOST_LOOKED_AT ? ', …' : '';
  const noun = cut === 1 ? 'connection' : 'connections';
  return `cut ${cut} ${noun} that policy denies now: ${names}${more}`;
}

/** Of a few addresses: a map of all would be made for each line. */
function ownersOf(cluster: Cluster, addresses: ReadonlySet<Address>): ReadonlyMap<Address, Pod> {
  const owners = [...addresses].map(address => [address, ownerOf(cluster, address)] as const);
  return new Map(owners.filter((entry): entry is [Address, Pod] => entry[1] !== undefined));
}

/** `shop/web -> shop/db:5432/TCP`: addresses where no pod owns them. */
function namedFlow({ from, to, port, protocol }: Flow, owners: ReadonlyMap<Address, Pod>): string {
  const nameOf = (address: Address) => owners.get(address)?.key ?? address;
  const target = owners.has(to) || port === undefined || familyOf(to) === 'ip' ? nameOf(to) : `[${to}]`;
  return `${nameOf(from)} -> ${target}${port === undefined ? '' : `:${port}`}/${protocol}`;
}
