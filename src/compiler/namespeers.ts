/**
 * The chains and sets of a node that has pods with rules by name. Answers of the cluster's resolvers to such a pod wait
 * in a queue while the agent sends its heartbeat, so that the addresses are in the sets before the pod gets the answer:
 *
 *     forward ─▶ names-replies ─▶ names-wait ─▶ queue      answers that are not trusted go on, and nothing is learnt
 *     output  ─▶ names-local   ─┘
 *     output  ─▶ names-told: control packets of the agent ─▶ an element of a set, or the switch
 *
 * If any policy of the cluster has rules by name, names-replies on every node drops packets from the port of resolvers
 * that a pod sends with a forged source address. It does so for tracked connections too, because the receiver cannot
 * tell such a packet from an answer.
 */
import { type Address, FAMILIES, type Family, familyOf } from '../model/address.ts';
import {
  CONTROL_MARK,
  type Command,
  commandDestination,
  DNS_PORT,
  forgetCommandOf,
  MOST_ANSWERS,
  QUEUE_NUMBER,
  SWITCH_MS,
  sourcePort,
  startWaiting,
  stopWaiting,
} from '../names/control.ts';
import { LIFETIMES } from '../names/leasetable.ts';
import type { NamesSet, Subjects } from '../names/subjects.ts';
import { addressIn, addressType, CT_STATE, ctStateAny, verdict } from '../nft/match.ts';
import {
  changeAddressPair,
  changeDestination,
  changeDestinationPort,
  isReply,
  l4ProtocolIs,
  markIsNot,
  originalDestinationIn,
  originalPortIs,
  portsVmap,
  queueTo,
  sourcePortIn,
  sourcePortIs,
} from '../nft/matchanswers.ts';
import { noRouteBack } from '../nft/matchinterface.ts';
import {
  type Chain,
  type ElementKey,
  type ElementValue,
  type Expr,
  MEMBER,
  type NftRule,
  type NftSet,
  type QueueBy,
  type Ruleset,
} from '../nft/ruleset.ts';
import type { TablePart } from './attachedpods.ts';
import { denyLink } from './denied.ts';
import { podLinkMatches } from './linkmatches.ts';
import type { NodeNetwork } from './podlinks.ts';

/** How this node reads DNS answers. */
export interface DnsQueue {
  readonly queue: QueueBy;
  /** The resolvers, by the addresses to which pods send their queries. */
  readonly resolvers: readonly Address[];
  /**
   * The ports from which they answer, as the node's rules see them: behind a Service it may differ from the port that
   * pods address.
   */
  readonly ports?: readonly number[];
}

/** Each port once, in ascending order. */
export function resolverPorts(dnsQueue: Pick<DnsQueue, 'ports'> | undefined): number[] {
  return [...new Set(dnsQueue?.ports ?? [DNS_PORT])].sort((a, b) => a - b);
}

/** The resolvers that programmed rules trust, and the ports of answers that they look at. */
export function dnsQueueIn({ tables }: Ruleset, queue: QueueBy): DnsQueue {
  const own = FAMILIES.flatMap(family => tables.get(family) ?? []);
  const resolvers = own.flatMap(({ sets }) => [...(sets.get(RESOLVERS)?.elements.keys() ?? [])]);
  const ports = own.flatMap(({ chains }) => (chains.get('forward')?.rules ?? []).flatMap(answersFrom));
  return { queue, resolvers: resolvers as Address[], ...(ports.length > 0 && { ports }) };
}

/** The port that a rule of `namesOfForward` matches. */
function answersFrom({ exprs }: NftRule): number[] {
  const [, compared, last] = exprs;
  const leads = last?.kind === 'verdict' && last.verdict.kind === 'jump' && last.verdict.chain === REPLIES;
  return leads && compared?.kind === 'cmp' ? [Number.parseInt(compared.data, 16)] : [];
}

/** Whether DNS answers wait in a queue by these programmed rules. */
export function queuesAnswers({ tables }: Ruleset): boolean {
  return FAMILIES.some(family => (tables.get(family)?.sets.get(ALIVE)?.elements.size ?? 0) > 0);
}

export const NAMES_PODS = 'names-pods';
const RESOLVERS = 'names-resolvers';
const ALIVE = 'names-alive';
const BUSY = 'names-busy';
const TOLD = 'names-told';
const REPLIES = 'names-replies';
const LOCAL = 'names-local';
const WAIT = 'names-wait';
const BUSY_TIMEOUT_MS = 10_000;
/** NF_IP_PRI_RAW: before conntrack, which is not to track control packets. */
const RAW = -300;

/** What base chains do with answers of DNS; undefined in a cluster without rules by name. */
export interface AnswersOfBase {
  /** The ports from which resolvers answer. */
  readonly ports: readonly number[];
  /** Whether this node has pods with rules by name, so that it reads their DNS answers. */
  readonly readsAnswers: boolean;
}

/** In front of the rule that accepts replies, so that packets of open connections pay a compare for each port too. */
export function namesOfForward({ ports }: AnswersOfBase): NftRule[] {
  return ports.map(port => ({ exprs: [...sourcePortIs(port), verdict('jump', REPLIES)] }));
}

/** The rules of the output hook, for answers of a resolver on the node itself. */
export function namesOfOutput({ ports, readsAnswers }: AnswersOfBase): NftRule[] {
  return readsAnswers ? ports.map(port => ({ exprs: [...sourcePortIs(port), verdict('jump', LOCAL)] })) : [];
}

/** The chains of a node without pods that have rules by name: they drop forged answers. */
export function forgedPart(network: NodeNetwork): TablePart {
  return { chains: [{ name: REPLIES, rules: forged(network) }], sets: [] };
}

/**
 * An answer of a resolver that arrives by the link of a pod which does not have its address is forged. Packets that
 * open a connection are dropped for the same reason elsewhere.
 */
function forged({ links }: NodeNetwork): NftRule[] {
  return podLinkMatches(links).map(link => ({
    exprs: [...link, ...noRouteBack(), denyLink()],
    comment: 'answers from an address of somebody else',
  }));
}

export function namesPart(
  family: Family,
  subjects: Subjects,
  dnsQueue: DnsQueue,
  network: NodeNetwork,
): TablePart {
  return {
    chains: [
      { name: TOLD, hook: { hook: 'output', priority: RAW, policy: 'accept' }, rules: toldRules() },
      switchChain('names-beat', { op: 'update', set: ALIVE, timeoutMs: SWITCH_MS }),
      switchChain('names-end', { op: 'delete', set: ALIVE }),
      {
        name: REPLIES,
        rules: [
          ...forged(network),
          notOurs(family),
          { exprs: [...noRouteBack(), verdict('return')] },
          ...trusted(family),
        ],
      },
      { name: LOCAL, rules: [notOurs(family), ...trusted(family), untracked(family)] },
      { name: WAIT, rules: waitRules(family, dnsQueue) },
      ...subjects.sets.flatMap(set => chainsOf(set, family)),
    ],
    sets: setsOf(family, subjects, dnsQueue),
  };
}

/**
 * No rule drops behind the look-up: a control packet that no rule took leaves the chain again, which its sender
 * notices.
 */
function toldRules(): NftRule[] {
  return [{ exprs: [...markIsNot(CONTROL_MARK), verdict('return')] }, { exprs: portsVmap(TOLD) }];
}

function switchChain(name: string, change: Parameters<typeof changeDestinationPort>[0]): Chain {
  return { name, rules: [{ exprs: [...changeDestinationPort(change), verdict('drop')] }] };
}

function chainsOf(set: NamesSet, family: Family): Chain[] {
  const timeoutMs = LIFETIMES.leaseMs;
  const chain = (name: string, exprs: Expr[]) => ({ name, rules: [{ exprs: [...exprs, verdict('drop')] }] });
  return [
    chain(`learn-${set.name}`, changeAddressPair(family, { op: 'update', set: set.name, timeoutMs })),
    chain(`forget-${set.name}`, changeAddressPair(family, { op: 'delete', set: set.name })),
  ];
}

function notOurs(family: Family): NftRule {
  return { exprs: [...addressIn(family, 'daddr', NAMES_PODS, true), verdict('return')] };
}

/**
 * C54: matches answers to questions that were sent to one of the resolvers, whatever address that was translated to.
 */
function trusted(family: Family): NftRule[] {
  return (['udp', 'tcp'] as const).map(protocol => ({
    exprs: [
      ...l4ProtocolIs(protocol),
      ...isReply(),
      ...originalPortIs(DNS_PORT),
      ...originalDestinationIn(family, RESOLVERS),
      verdict('goto', WAIT),
    ],
  }));
}

/** A node-local DNS cache excludes its queries and answers from conntrack. Their sender is the node itself. */
function untracked(family: Family): NftRule {
  const exprs = [...ctStateAny(CT_STATE.untracked), ...addressIn(family, 'saddr', RESOLVERS)];
  return { exprs: [...exprs, verdict('goto', WAIT)] };
}

function waitRules(family: Family, { queue }: DnsQueue): NftRule[] {
  const busy = changeDestination(family, { op: 'update', set: BUSY, over: MOST_ANSWERS });
  return [
    { exprs: [...sourcePortIn(ALIVE, true), verdict('return')] },
    { exprs: [...busy, verdict('return')] },
    {
      exprs: queueTo(QUEUE_NUMBER, queue),
      comment: `waits in queue ${QUEUE_NUMBER}; goes on where nobody listens`,
    },
  ];
}

function setsOf(family: Family, { pods, sets }: Subjects, dnsQueue: DnsQueue): NftSet[] {
  const { resolvers } = dnsQueue;
  const address = [addressType(family)];
  const plain = { verdicts: false, interval: false, elements: new Map() };
  const ofFamily = (addresses: readonly Address[]) =>
    new Map(addresses.filter(each => familyOf(each) === family).map(each => [each, MEMBER]));
  return [
    { ...plain, name: NAMES_PODS, key: address, elements: ofFamily(pods.flatMap(pod => pod.addresses)) },
    { ...plain, name: RESOLVERS, key: address, elements: ofFamily(resolvers) },
    { ...plain, name: ALIVE, key: ['inet_service'], dynamic: { size: 16 } },
    { ...plain, name: BUSY, key: address, dynamic: { size: 4_096, timeoutMs: BUSY_TIMEOUT_MS } },
    {
      ...plain,
      name: TOLD,
      key: ['inet_service', 'inet_service'],
      verdicts: true,
      elements: commands(sets, dnsQueue),
    },
  ];
}

function commands(sets: readonly NamesSet[], dnsQueue: DnsQueue): Map<ElementKey, ElementValue> {
  const goto = (chain: string): ElementValue => ({ verdict: { kind: 'goto', chain } });
  return new Map([
    ...resolverPorts(dnsQueue).flatMap((port): [ElementKey, ElementValue][] => [
      [keyOf(startWaiting(port)), goto('names-beat')],
      [keyOf(stopWaiting(port)), goto('names-end')],
    ]),
    ...sets.flatMap(({ name, command }): [ElementKey, ElementValue][] => [
      [keyOf(command), goto(`learn-${name}`)],
      [keyOf(forgetCommandOf(command)), goto(`forget-${name}`)],
    ]),
  ]);
}

function keyOf(command: Command): ElementKey {
  return `${sourcePort(command)} . ${commandDestination(command)}`;
}
