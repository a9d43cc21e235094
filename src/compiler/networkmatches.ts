/** Networks as expressions: a few compares, or one look-up in an interval set. */

import { getOrMake } from '../lib/collections/getormake.ts';
import { contentText } from '../lib/text/contenttext.ts';
import type { Cidr } from '../model/address.ts';
import type { NetworkPeer } from '../model/policy.ts';
import { type AddressField, addressIn, addressInNetwork, addressType } from '../nft/match.ts';
import { type Expr, MEMBER } from '../nft/ruleset.ts';
import type { Builder } from './builder.ts';
import { type LabelledPeer, labelsAmong, type PeerMatch } from './labelled.ts';
import { peerRanges, rangeText } from './networks.ts';

// Up to 25 compares are cheaper than a look-up in any interval set (measured); no rule of that many is too long for
// the kernel (compiler/sizes.test.ts).
const MOST_COMPARES = 25;

/** Alternatives for networks of the builder's family. */
export function networkMatches(
  networks: readonly LabelledPeer<NetworkPeer>[],
  field: AddressField,
  builder: Builder,
): PeerMatch[] {
  const distinct = new Map<string, LabelledPeer<NetworkPeer>[]>();
  for (const entry of networks) getOrMake(distinct, contentText(entry.peer), () => []).push(entry);
  const peers = [...distinct.values()];
  const compares = peers.reduce((sum, [entry]) => sum + 1 + entry!.peer.except.length, 0);
  if (compares > MOST_COMPARES) return setMatch(networks, peers, field, builder);
  return peers.map(entries => ({ match: compare(entries[0]!.peer, field), labels: labelsAmong(entries) }));
}

function setMatch(
  networks: readonly LabelledPeer<NetworkPeer>[],
  distinct: readonly (readonly LabelledPeer<NetworkPeer>[])[],
  field: AddressField,
  builder: Builder,
): PeerMatch[] {
  const ranges = peerRanges(distinct.map(([entry]) => entry!.peer));
  if (ranges.length === 0) return [];
  const set = builder.networkSet({
    key: [addressType(builder.family)],
    verdicts: false,
    interval: true,
    elements: new Map(ranges.map(range => [rangeText(range), MEMBER])),
  });
  return [{ match: addressIn(builder.family, field, set), labels: labelsAmong(networks) }];
}

/** `ip daddr 10.0.0.0/8 ip daddr != 10.1.0.0/16`. */
function compare({ cidr, except }: NetworkPeer, field: AddressField): Expr[] {
  const ofFamily = except.filter((hole: Cidr) => hole.family === cidr.family);
  return [...addressInNetwork(cidr, field), ...ofFamily.flatMap(hole => addressInNetwork(hole, field, true))];
}
