/**
 * Groups the rules of a run by port: each port with the peers of all rules that have it. Many ports become one look-up:
 * single ports in a hash by protocol and port, ranges in an interval map for each protocol.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import { inPieces, type Pieces } from '../lib/collections/pieces.ts';
import type { Family } from '../model/address.ts';
import { countPairs, hasManyPairs, MOST_PAIRS } from '../model/pairs.ts';
import type { Peer, PortMatch, Protocol } from '../model/policy.ts';
import {
  countPorts,
  type MergedPorts,
  mergePorts,
  type NumberedPort,
  type PortRange,
} from '../model/ports.ts';
import { countSegments, MOST_SEGMENTS, segmentsOf } from '../model/segments.ts';
import { destinationPortVmap, protocolIs, protocolPortVmap } from '../nft/match.ts';
import type { ElementKey, ElementValue, NftRule, NftVerdict } from '../nft/ruleset.ts';
import type { RulePlace } from './builder.ts';
import type { PodClass } from './classes.ts';
import { type LabelledPeers, labelsAmong, type SourcedRule } from './labelled.ts';
import { commentOf } from './names.ts';

/** Destination ports, and the peers that the rules allow there. */
export interface PortGroup<Ports = NumberedPort | 'any'> {
  readonly ports: Ports;
  readonly peerLists: LabelledPeers[];
}

// Expanding a port range costs an element for each port; matching it by two compares costs each packet 19 ns
// (measured).
const WIDEST_EXPANDED_RANGE = 64;
const MOST_EXPANDED = 1_024;

/**
 * The port groups, in the order in which the rules first have their ports. Narrow ranges become single ports if there
 * are few of those.
 */
export function portGroupsOf(rules: readonly NumberedRule[]): PortGroup[] {
  const widest = countExpanded(rules) <= MOST_EXPANDED ? WIDEST_EXPANDED_RANGE : 1;
  const groups = new Map<string, PortGroup>();
  for (const { label, peers, ports } of rules) {
    for (const part of partsOf(ports, widest))
      getOrMake(groups, keyOf(part), () => ({ ports: part, peerLists: [] })).peerLists.push({ label, peers });
  }
  return [...groups.values()];
}

/** How many single ports the narrow ranges of the rules would become. */
function countExpanded(rules: readonly NumberedRule[]): number {
  let count = 0;
  for (const { ports } of rules) {
    for (const range of ports === 'any' ? [] : ports.ranges) {
      const width = widthOf(range);
      if (width > 1 && width <= WIDEST_EXPANDED_RANGE) count += width;
    }
  }
  return count;
}

function* partsOf(ports: NumberedRule['ports'], widest: number): Generator<NumberedPort | 'any'> {
  if (ports === 'any') {
    yield ports;
    return;
  }
  for (const protocol of ports.protocols) yield { kind: 'protocol', protocol };
  for (const range of ports.ranges) {
    if (widthOf(range) > widest) yield range;
    else for (let port = range.first; port <= range.last; port++) yield { ...range, first: port, last: port };
  }
}

function widthOf({ first, last }: PortRange): number {
  return last - first + 1;
}

function keyOf(ports: PortGroup['ports']): string {
  if (ports === 'any') return 'any';
  return ports.kind === 'protocol' ? ports.protocol : `${ports.protocol} ${ports.first}-${ports.last}`;
}

export function isExact(group: PortGroup): group is PortGroup<PortRange> {
  const { ports } = group;
  return ports !== 'any' && ports.kind === 'range' && ports.first === ports.last;
}

/** Whether it is more than one port, and not all ports of a protocol. */
export function isRange(group: PortGroup): group is PortGroup<PortRange> {
  const { ports } = group;
  return ports !== 'any' && ports.kind === 'range' && ports.first < ports.last;
}

export function l4(protocol: Protocol): 'tcp' | 'udp' | 'sctp' {
  return protocol.toLowerCase() as 'tcp' | 'udp' | 'sctp';
}

/** A rule with port numbers, or without ports. Its named ports are compiled separately for egress. */
export interface NumberedRule {
  readonly label: string;
  readonly peers: 'any' | readonly Peer[];
  readonly ports: 'any' | MergedPorts;
}

/** The rules with their ports as numbers, without rules that match nothing of the family. */
export function numberedRules(
  rules: readonly SourcedRule[],
  podClass: PodClass,
  family: Family,
): NumberedRule[] {
  return rules.flatMap(({ rule: { peers, ports }, label }): NumberedRule[] => {
    if (peers !== 'any' && peers.every(peer => isOfOther(family, peer))) return [];
    if (ports === 'any') return [{ label, peers, ports }];
    const merged = mergePorts(ports.flatMap(port => numbersOf(port, podClass)));
    return countPorts(merged) === 0 ? [] : [{ label, peers, ports: merged }];
  });
}

/** For a rule with a thousand networks of one family, finding that it has none of the other family has to be cheap. */
function isOfOther(family: Family, peer: Peer): boolean {
  return peer.kind === 'network' && peer.cidr.family !== family;
}

/** For ingress the named ports of the destination are known, and become numbers. */
function numbersOf(port: PortMatch, podClass: PodClass): readonly NumberedPort[] {
  if (port.kind !== 'named') return [port];
  return podClass.direction === 'ingress' ? podClass.resolve(port) : [];
}

/**
 * Splits the rules into groups that are looked up together; mostly one group. A port of several rules leads to the
 * peers of all of them, so rules with many ports and many peers beside others of the same ports would multiply.
 */
export function lookedUpTogether(rules: readonly NumberedRule[]): (readonly NumberedRule[])[] {
  if (rules.reduce((sum, rule) => sum + countPairs(rule), 0) <= MOST_PAIRS) return [rules];
  const [small, large] = [rules.filter(rule => !hasManyPairs(rule)), rules.filter(hasManyPairs)];
  return [...(small.length > 0 ? [small] : []), ...large.map(rule => [rule])];
}

/** How many ports a piece compiles: each may have peers, and so a chain and groups, of its own. */
const PORTS_OF_A_PIECE = 64;

type VerdictOf = (peerLists: readonly LabelledPeers[]) => NftVerdict | undefined;

/** `ip protocol . th dport vmap @…-ports`. The map has elements of tcp, udp and sctp only, so ICMP never matches. */
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

/** The value of an element, cached for all ports that have the same peers by the same rules. */
function valuesBy(verdictOf: VerdictOf): (peerLists: readonly LabelledPeers[]) => ElementValue | undefined {
  const values = new Map<string, ElementValue | undefined>();
  // A rule may have thousands of ports, which share its peers.
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
