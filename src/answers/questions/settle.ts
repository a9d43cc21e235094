/** Gives addresses to those whose address nobody knows: one for each way in which a policy could tell them apart. */
import type { Address, AddressRange, Cidr } from '../../model/address.ts';
import { type Cluster, namespaceOf, type Pod } from '../../model/cluster.ts';
import type { Direction, Rule } from '../../model/policy.ts';
import { matchPod } from '../../model/selector.ts';
import type { Place } from './place.ts';
import { freeIn, pieces } from './ranges.ts';

/** An address that stands for a whole range. */
export interface Stand {
  readonly address: Address;
  /** Absent where the address is the place's own. */
  readonly range?: AddressRange;
}

/** Beyond these a question would take minutes; the note says so. */
export const MOST_PIECES = 2_000;

export interface Settled {
  readonly place: Place;
  readonly stands: readonly Stand[];
  /** The pod that is there for the time of the question. */
  readonly pod?: Pod;
  readonly isCut: boolean;
}

/** `others` are the pods at the other end: their policies in `direction` are what sees this address. */
export function settle(
  cluster: Cluster,
  place: Place,
  others: readonly Pod[],
  direction: Direction,
  taken: Set<Address>,
): Settled {
  const { unplaced, addresses } = place;
  if (unplaced === undefined) return { place, stands: addresses.map(address => ({ address })), isCut: false };
  const all = pieces(unplaced.within, networksSeenBy(cluster, others, direction));
  const stands = all.slice(0, MOST_PIECES).flatMap(range => standIn(range, taken));
  const { pod } = unplaced;
  const there = pod && { ...pod, addresses: stands.map(({ address }) => address) };
  return { place, stands, isCut: all.length > MOST_PIECES, ...(there && { pod: there }) };
}

function standIn(range: AddressRange, taken: Set<Address>): Stand[] {
  const address = freeIn(range, taken);
  if (address === undefined) return [];
  taken.add(address);
  return [{ address, range }];
}

function networksSeenBy(cluster: Cluster, pods: readonly Pod[], direction: Direction): readonly Cidr[] {
  const seeing = [...cluster.policies.values()].filter(
    policy =>
      policy[direction] !== undefined &&
      pods.some(pod => matchPod(policy.subject, pod, namespaceOf(cluster, pod.namespace)) !== 'no'),
  );
  return seeing.flatMap(policy => policy[direction]!.flatMap(networksOf));
}

function networksOf({ peers }: Rule): readonly Cidr[] {
  if (peers === 'any') return [];
  return peers.flatMap(peer => (peer.kind === 'network' ? [peer.cidr, ...peer.except] : []));
}
