/**
 * A run: rules that follow one another in precedence and have the same action, so that their order does not matter. It
 * is compiled into one look-up by port, and one for each group of peers that is allowed on any port.
 */
import { type Pieces, wholeOf } from '../lib/collections/pieces.ts';
import { destinationPort, protocolIs } from '../nft/match.ts';
import type { Expr, NftRule, NftVerdict } from '../nft/ruleset.ts';
import type { Builder, RulePlace } from './builder.ts';
import type { PodClass } from './classes.ts';
import { type LabelledPeers, labelsAmong, type PeerMatch, type SourcedRule } from './labelled.ts';
import { namedPeerMatches } from './namedports.ts';
import { commentOf } from './names.ts';
import { peerMatchesOf } from './peers.ts';
import {
  exactPortMap,
  isExact,
  isRange,
  l4,
  lookedUpTogether,
  type NumberedRule,
  numberedRules,
  type PortGroup,
  portGroupsOf,
  portRangeMaps,
} from './portgroups.ts';

export interface Run {
  /** The verdict for a packet that a rule of the run matches. */
  readonly verdict: NftVerdict;
  /** Up to this many single ports are compared one by one; more are looked up in a map. */
  readonly mostCompares: number;
  readonly rules: readonly SourcedRule[];
}

/**
 * Up to this many port ranges are compared one by one, at 19 ns each; an interval map of ten costs 173 ns (measured).
 */
const MOST_RANGES = 9;

/** Kernel rules that give the run's verdict to packets that its rules match. Other packets go on behind them. */
export function runRules(run: Run, place: RulePlace): NftRule[] {
  return wholeOf(runRulesInPieces(run, place));
}

/** Compiles the kernel rules of a run in pieces, because a policy may have a thousand rules. */
export function* runRulesInPieces(run: Run, place: RulePlace): Pieces<NftRule[]> {
  const rules = numberedRules(run.rules, place.podClass, place.builder.family);
  const unconditional = rules.filter(({ ports, peers }) => ports === 'any' && peers === 'any');
  if (unconditional.length > 0) return [ruleOf([], run.verdict, labelsAmong(unconditional))];
  yield;
  const made: NftRule[] = [];
  for (const together of lookedUpTogether(rules)) made.push(...(yield* rulesByPort(together, run, place)));
  return [...made, ...namedPortRules(run, place)];
}

function* rulesByPort(rules: readonly NumberedRule[], run: Run, place: RulePlace): Pieces<NftRule[]> {
  const groups = portGroupsOf(rules);
  yield;
  const exact = groups.filter(isExact);
  const ranges = groups.filter(isRange);
  const verdict = (peerLists: readonly LabelledPeers[]) => verdictFor(peerLists, run, place);
  const inMap = exact.length > run.mostCompares ? exact : [];
  const maps = ranges.length > MOST_RANGES ? yield* portRangeMaps(ranges, place, verdict) : undefined;
  const mapped = new Set<PortGroup>([...inMap, ...(maps === undefined ? [] : ranges)]);
  return [
    ...(yield* exactPortMap(inMap, place, verdict)),
    ...(maps ?? []),
    ...groups.flatMap(group => (mapped.has(group) ? [] : portRules(group, run, place))),
  ];
}

/**
 * The verdict for a packet to these ports: that of the run, or a jump to a chain that looks at its peers first;
 * undefined if no rule matches.
 */
function verdictFor(
  peerLists: readonly LabelledPeers[],
  run: Run,
  { podClass, builder }: RulePlace,
): NftVerdict | undefined {
  if (peerLists.some(({ peers }) => peers === 'any')) return run.verdict;
  const peerMatches = peerMatchesOf(peerLists, podClass.direction, builder);
  if (peerMatches.length === 0) return undefined;
  return { kind: 'jump', chain: peerChain(peerMatches, run, podClass, builder) };
}

/** A chain that gives the verdict to the peers. All ports and classes with the same peers share it. */
function peerChain(peerMatches: PeerMatch[], run: Run, { direction }: PodClass, builder: Builder): string {
  const rules = peerMatches.map(({ match, labels }) => ruleOf(match, run.verdict, labels));
  return builder.sharedChain(direction === 'ingress' ? 'from' : 'to', rules);
}

/** The rules of a port group that is looked up in no map: all ports of a protocol, a wide range, or any port. */
function portRules({ ports, peerLists }: PortGroup, run: Run, { podClass, builder }: RulePlace): NftRule[] {
  const match = portMatch(ports, builder);
  if (peerLists.some(({ peers }) => peers === 'any'))
    return [ruleOf(match, run.verdict, labelsAmong(peerLists))];
  const peerMatches = peerMatchesOf(peerLists, podClass.direction, builder);
  if (peerMatches.length <= 1 || match.length === 0) {
    return peerMatches.map(({ match: peer, labels }) => ruleOf([...match, ...peer], run.verdict, labels));
  }
  const chain = peerChain(peerMatches, run, podClass, builder);
  return [ruleOf(match, { kind: 'jump', chain }, labelsAmong(peerLists))];
}

/** Compares the port before the protocol, so that a packet to another port is done after one compare. */
function portMatch(ports: PortGroup['ports'], { family }: Builder): Expr[] {
  if (ports === 'any') return [];
  const protocol = protocolIs(family, l4(ports.protocol));
  return ports.kind === 'protocol' ? protocol : [...destinationPort(ports.first, ports.last), ...protocol];
}

/**
 * Egress: the destination pod decides which number the name means, so its address and port are looked up together
 * (N30).
 */
function namedPortRules(run: Run, { podClass, builder }: RulePlace): NftRule[] {
  if (podClass.direction === 'ingress') return [];
  return namedPeerMatches(run.rules, builder).map(({ match, labels }) => ruleOf(match, run.verdict, labels));
}

function ruleOf(match: readonly Expr[], verdict: NftVerdict, labels: readonly string[]): NftRule {
  return { exprs: [...match, { kind: 'verdict', verdict }], comment: commentOf(labels) };
}
