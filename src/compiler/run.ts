/**
 * A run: rules that follow one another in precedence and have the same action, so that their order does not
 * matter. It becomes one look-up by port, and one for each group of peers that is allowed on any port.
 */
import type { PortMatch, Protocol } from '../model/policy.ts';
import { destinationPort, protocolIs, protocolPortVmap } from '../nft/match.ts';
import type { ElementKey, ElementValue, Expr, Rule, Verdict } from '../nft/ruleset.ts';
import type { Builder } from './builder.ts';
import type { NamedPort, PodClass } from './classes.ts';
import { getOrMake } from './live/podindex.ts';
import { commentOf } from './names.ts';
import {
  type LabelledPeers,
  namedPeerMatches,
  type PeerMatch,
  peerMatchesOf,
  type SourcedRule,
} from './peers.ts';

export interface Run {
  /** What happens to a packet that a rule of the run matches. */
  readonly verdict: Verdict;
  /** Up to so many single ports are compared one by one; more are looked up in a map. */
  readonly mostCompares: number;
  readonly rules: readonly SourcedRule[];
}

/** Destination ports that a set of rules shares. */
interface PortGroup {
  readonly ports: Exclude<PortMatch, NamedPort> | 'any';
  readonly peerLists: LabelledPeers[];
}

// Expanding a range costs an element a port; a range by two compares costs 19 ns a packet (measured).
const WIDEST_EXPANDED_RANGE = 64;

/** Kernel rules that give the run's verdict to what its rules match, and let everything else fall through. */
export function runRules(run: Run, podClass: PodClass, chain: string, builder: Builder): Rule[] {
  const portGroups = portGroupsOf(run.rules, podClass);
  const anyPort = portGroups.get('any')?.peerLists ?? [];
  const unconditional = anyPort.filter(({ peers }) => peers === 'any').map(({ label }) => label);
  if (unconditional.length > 0) return [ruleOf([], run.verdict, unconditional)];
  const others = [...portGroups.values()];
  const exact = others.filter(isExact);
  const mapped = new Set(exact.length > run.mostCompares ? exact : []);
  return [
    ...exactPortRules(mapped, run, podClass, chain, builder),
    ...others.flatMap(portGroup =>
      mapped.has(portGroup) ? [] : portRules(portGroup, run, podClass, builder),
    ),
    ...namedPortRules(run, podClass, builder),
  ];
}

function portGroupsOf(rules: readonly SourcedRule[], podClass: PodClass): Map<string, PortGroup> {
  const portGroups = new Map<string, PortGroup>();
  for (const { rule, label } of rules) {
    if (rule.peers !== 'any' && rule.peers.length === 0) continue;
    for (const ports of rule.ports === 'any'
      ? ['any' as const]
      : rule.ports.flatMap(port => expand(port, podClass))) {
      const key = portGroupKey(ports);
      const portGroup = portGroups.get(key);
      if (portGroup === undefined) portGroups.set(key, { ports, peerLists: [{ label, peers: rule.peers }] });
      else portGroup.peerLists.push({ label, peers: rule.peers });
    }
  }
  return portGroups;
}

/** Named ports of a destination that we know (ingress) become numbers; narrow ranges become single ports. */
function expand(port: PortMatch, podClass: PodClass): Exclude<PortMatch, NamedPort>[] {
  switch (port.kind) {
    case 'protocol':
      return [port];
    case 'named':
      return podClass.direction === 'ingress' ? [...podClass.resolve(port)] : [];
    case 'range': {
      const width = port.last - port.first + 1;
      if (width <= 0) return []; // C26: a range that ends before it starts matches nothing.
      if (width > WIDEST_EXPANDED_RANGE) return [port];
      return Array.from({ length: width }, (_, i) => ({
        ...port,
        first: port.first + i,
        last: port.first + i,
      }));
    }
  }
}

function portGroupKey(ports: PortGroup['ports']): string {
  if (ports === 'any') return 'any';
  return ports.kind === 'protocol' ? ports.protocol : `${ports.protocol} ${ports.first}-${ports.last}`;
}

function isExact({ ports }: PortGroup): boolean {
  return ports !== 'any' && ports.kind === 'range' && ports.first === ports.last;
}

/** `meta l4proto . th dport vmap @…-ports`: only tcp, udp and sctp are in it, so ICMP never matches by accident. */
function exactPortRules(
  portGroups: Iterable<PortGroup>,
  run: Run,
  podClass: PodClass,
  chain: string,
  builder: Builder,
): Rule[] {
  const elements = new Map<ElementKey, ElementValue>();
  // The ports of one rule have the same peers, and those may be thousands.
  const values = new Map<string, ElementValue>();
  const numbers = new Map<LabelledPeers['peers'], number>();
  const keyOf = ({ label, peers }: LabelledPeers) =>
    `${getOrMake(numbers, peers, () => numbers.size)} ${label}`;
  for (const { ports, peerLists } of portGroups) {
    const { protocol, first } = ports as Extract<PortMatch, { kind: 'range' }>;
    const value = getOrMake(values, peerLists.map(keyOf).join('\n'), () => {
      const verdict = verdictFor(peerLists, run, podClass, builder);
      return verdict === undefined ? {} : { verdict, comment: commentOf(labels(peerLists)) };
    });
    if (value.verdict !== undefined) elements.set(`${l4(protocol)} . ${first}`, value);
  }
  if (elements.size === 0) return [];
  const name = builder.uniqueSetName(`${chain}-ports`);
  builder.addSet({ name, key: ['inet_proto', 'inet_service'], verdicts: true, interval: false, elements });
  return [{ exprs: protocolPortVmap(builder.family, name) }];
}

/** What happens to a packet on these ports: the run's verdict, or a look at its peers first; undefined: nothing. */
function verdictFor(
  peerLists: LabelledPeers[],
  run: Run,
  podClass: PodClass,
  builder: Builder,
): Verdict | undefined {
  if (peerLists.some(({ peers }) => peers === 'any')) return run.verdict;
  const peerMatches = peerMatchesOf(peerLists, podClass.direction, builder);
  if (peerMatches.length === 0) return undefined;
  return { kind: 'jump', chain: peerChain(peerMatches, run, podClass, builder) };
}

/** A chain that gives the verdict to the peers, shared by all ports and classes that mean the same. */
function peerChain(peerMatches: PeerMatch[], run: Run, { direction }: PodClass, builder: Builder): string {
  const rules = peerMatches.map(({ match, labels }) => ruleOf(match, run.verdict, labels));
  return builder.sharedChain(direction === 'ingress' ? 'from' : 'to', rules);
}

/** All ports of a protocol, a wide range, or any port at all. */
function portRules({ ports, peerLists }: PortGroup, run: Run, podClass: PodClass, builder: Builder): Rule[] {
  const match = portMatch(ports, builder);
  if (peerLists.some(({ peers }) => peers === 'any')) return [ruleOf(match, run.verdict, labels(peerLists))];
  const peerMatches = peerMatchesOf(peerLists, podClass.direction, builder);
  if (peerMatches.length <= 1 || match.length === 0) {
    return peerMatches.map(({ match: peer, labels }) => ruleOf([...match, ...peer], run.verdict, labels));
  }
  const chain = peerChain(peerMatches, run, podClass, builder);
  return [ruleOf(match, { kind: 'jump', chain }, labels(peerLists))];
}

/** The port before the protocol: a packet to another port is sent on after one compare. */
function portMatch(ports: PortGroup['ports'], { family }: Builder): Expr[] {
  if (ports === 'any') return [];
  const protocol = protocolIs(family, l4(ports.protocol));
  return ports.kind === 'protocol' ? protocol : [...destinationPort(ports.first, ports.last), ...protocol];
}

/** Egress: the destination pod says what the name means, so its address and port are looked up together (N30). */
function namedPortRules(run: Run, { direction }: PodClass, builder: Builder): Rule[] {
  if (direction === 'ingress') return [];
  return namedPeerMatches(run.rules, builder).map(({ match, labels }) => ruleOf(match, run.verdict, labels));
}

function ruleOf(match: readonly Expr[], verdict: Verdict, labels: readonly string[]): Rule {
  return { exprs: [...match, { kind: 'verdict', verdict }], comment: commentOf(labels) };
}

function labels(peerLists: readonly LabelledPeers[]): string[] {
  return peerLists.map(({ label }) => label);
}

function l4(protocol: Protocol): 'tcp' | 'udp' | 'sctp' {
  return protocol.toLowerCase() as 'tcp' | 'udp' | 'sctp';
}
