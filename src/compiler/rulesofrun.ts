/** The rules of a run as they are looked up: with their ports as numbers, each once. */
import type { Family } from '../model/address.ts';
import { countPairs, hasManyPairs, MOST_PAIRS } from '../model/pairs.ts';
import type { Peer, PortMatch } from '../model/policy.ts';
import { countPorts, type MergedPorts, mergePorts, type NumberedPort } from '../model/ports.ts';
import type { PodClass } from './classes.ts';
import type { SourcedRule } from './labelled.ts';

/** A rule that numbers or no numbers can match; what its named ports match on egress is looked up apart. */
export interface NumberedRule {
  readonly label: string;
  readonly peers: 'any' | readonly Peer[];
  readonly ports: 'any' | MergedPorts;
}

/** Without those that match nothing of the family. */
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

/** Whoever names a thousand networks has them of one family: the other one is to cost a look at each. */
function isOfOther(family: Family, peer: Peer): boolean {
  return peer.kind === 'network' && peer.cidr.family !== family;
}

/** Named ports of a destination that we know (ingress) become numbers. */
function numbersOf(port: PortMatch, podClass: PodClass): readonly NumberedPort[] {
  if (port.kind !== 'named') return [port];
  return podClass.direction === 'ingress' ? podClass.resolve(port) : [];
}

/**
 * The rules that are looked up together: mostly all. A port that several rules name leads to the peers of all of
 * them, so that many ports of many peers beside others of the same ports would be as many pairs.
 */
export function lookedUpTogether(rules: readonly NumberedRule[]): (readonly NumberedRule[])[] {
  if (rules.reduce((sum, rule) => sum + countPairs(rule), 0) <= MOST_PAIRS) return [rules];
  const [small, large] = [rules.filter(rule => !hasManyPairs(rule)), rules.filter(hasManyPairs)];
  return [...(small.length > 0 ? [small] : []), ...large.map(rule => [rule])];
}
