/** Many ports as one look-up: single ports in a hash by protocol and port, ranges in interval maps of each protocol. */

import { getOrMake } from '../lib/collections/getormake.ts';
import { inPieces, type Pieces } from '../lib/collections/pieces.ts';
import type { Protocol } from '../model/policy.ts';
import type { PortRange } from '../model/ports.ts';
import { countSegments, MOST_SEGMENTS, segmentsOf } from '../model/segments.ts';
import { destinationPortVmap, protocolIs, protocolPortVmap } from '../nft/match.ts';
import type { ElementKey, ElementValue, NftRule, NftVerdict } from '../nft/ruleset.ts';
import type { RulePlace } from './builder.ts';
import { type LabelledPeers, labelsAmong } from './labelled.ts';
import { commentOf } from './names.ts';
import { l4, type PortGroup } from './portgroups.ts';

/** Each may lead to peers of its own, whose chain and groups are made. */
const PORTS_OF_A_PIECE = 64;

type VerdictOf = (peerLists: readonly LabelledPeers[]) => NftVerdict | undefined;

/** `ip protocol . th dport vmap @…-ports`: only tcp, udp and sctp are in it, so ICMP never matches by accident. */
export function* exactPortMap(
  groups: readonly PortGroup<PortRange>[],
  { chain, builder }: RulePlace,
  verdictOf: VerdictOf,
): Pieces<NftRule[]> {
  const elements = new Map<ElementKey, ElementValue>();
  const elementOf = valuesBy(verdictOf);
  yield* inPieces(PORTS_OF_A_PIECE, groups, ({ ports, peerLists }) => {
    const value = elementOf(peerLists);
    if (value !== undefined) elements.set(`${l4(ports.protocol)} . ${ports.first}`, value);
  });
  if (elements.size === 0) return [];
  const name = builder.uniqueSetName(`${chain}-ports`);
  builder.addSet({ name, key: ['inet_proto', 'inet_service'], verdicts: true, interval: false, elements });
  return [{ exprs: protocolPortVmap(builder.family, name) }];
}

/** `ip protocol tcp th dport vmap @…`, one for each protocol; undefined where too many ranges overlap. */
export function* portRangeMaps(
  groups: readonly PortGroup<PortRange>[],
  place: RulePlace,
  verdictOf: VerdictOf,
): Pieces<NftRule[] | undefined> {
  const byProtocol = new Map<Protocol, PortGroup<PortRange>[]>();
  for (const group of groups) getOrMake(byProtocol, group.ports.protocol, () => []).push(group);
  for (const ofProtocol of byProtocol.values())
    if (countSegments(ofProtocol) > MOST_SEGMENTS) return undefined;
  const made: NftRule[] = [];
  for (const [protocol, found] of byProtocol)
    made.push(...(yield* portRangeMap(protocol, found, place, verdictOf)));
  return made;
}

function* portRangeMap(
  protocol: Protocol,
  groups: readonly PortGroup<PortRange>[],
  { builder }: RulePlace,
  verdictOf: VerdictOf,
): Pieces<NftRule[]> {
  const elements = new Map<ElementKey, ElementValue>();
  const elementOf = valuesBy(verdictOf);
  yield* inPieces(PORTS_OF_A_PIECE, segmentsOf(groups), ({ first, last, covers }) => {
    const value = elementOf(covers.flatMap(({ peerLists }) => peerLists));
    if (value !== undefined) elements.set(first === last ? `${first}` : `${first}-${last}`, value);
  });
  if (elements.size === 0) return [];
  const name = builder.intervalMap('ranges', { key: ['inet_service'], elements });
  const { family } = builder;
  return [{ exprs: [...protocolIs(family, l4(protocol)), ...destinationPortVmap(name)] }];
}

/** The value of an element, made once for all ports that have the same peers by the same rules. */
function valuesBy(verdictOf: VerdictOf): (peerLists: readonly LabelledPeers[]) => ElementValue | undefined {
  const values = new Map<string, ElementValue | undefined>();
  // The ports of one rule have the same peers, and those may be thousands.
  const numbers = new Map<string, Map<LabelledPeers['peers'], number>>();
  let next = 0;
  const numberOf = ({ label, peers }: LabelledPeers) =>
    getOrMake(
      getOrMake(numbers, label, () => new Map()),
      peers,
      () => next++,
    );
  return peerLists => {
    const key = peerLists.map(numberOf).join();
    if (values.has(key)) return values.get(key);
    const verdict = verdictOf(peerLists);
    const value = verdict && { verdict, comment: commentOf(labelsAmong(peerLists)) };
    values.set(key, value);
    return value;
  };
}
