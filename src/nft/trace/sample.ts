/**
 * Operations that use every kind of object that our rules need, in tables of their own: a kernel that accepts them
 * accepts every ruleset of ours. They are only tried, never committed. There is no base chain, because the kernel would
 * call it for a moment.
 */
import { FAMILIES, parseCidr } from '../../model/address.ts';
import {
  addressIn,
  addressInNetwork,
  addressPairIn,
  addressProtocolPortIn,
  addressType,
  addressTypeIs,
  addressVmap,
  CT_STATE,
  ctStateAny,
  ctStateIsNot,
  destinationPort,
  icmpTypeIs,
  isSourceTranslated,
  isTranslated,
  limitOver,
  logTo,
  masquerade,
  neighbourDiscovery,
  notOpeningSctp,
  notOpeningTcp,
  protocolIs,
  protocolPortVmap,
  redirectByPort,
  rememberSender,
  senderIsConnectionEnd,
  verdict,
} from '../match.ts';
import { isReply, originalPortIs, queueTo } from '../matchanswers.ts';
import { isFragment } from '../matchextension.ts';
import { etherTypeIs, forBridgeItself, senderIn, senderIsUnspecified } from '../matchframe.ts';
import {
  interfaceGroupIs,
  interfaceIn,
  interfaceIs,
  interfaceKindIs,
  isForwarded,
  noRouteBack,
  notFromLoopback,
  packetTypeIs,
} from '../matchinterface.ts';
import type { Op } from '../plan/op.ts';
import type {
  ElementKey,
  ElementValue,
  Expr,
  Family,
  FieldType,
  QueueBy,
  SetSpec,
  TableFamily,
} from '../ruleset.ts';

const COMMENT = 'sample';
const SIZE = 256;
const NETWORK: Record<Family, string> = { ip: '192.0.2.0/24', ip6: '2001:db8::/32' };
const ADDRESS: Record<Family, string> = { ip: '192.0.2.1', ip6: '2001:db8::1' };

/**
 * The operations for families that have no table yet. With `attaches`, also what a node needs that attaches pods
 * itself.
 */
export function sample(families: readonly Family[] = FAMILIES, attaches = false): Op[] {
  return families.flatMap(family => [...sampleOf(family), ...(attaches ? sampleOfPods(family) : [])]);
}

function sampleOf(family: Family): Op[] {
  const address = addressType(family);
  const peers = set('peers', [address]);
  const networks = { ...set('networks', [address]), interval: true };
  const named = set('named', [address, 'inet_proto', 'inet_service']);
  const sources = { ...set('sources', [address]), dynamic: { size: SIZE, timeoutMs: 10_000 } };
  const senders = { ...set('senders', [address, address]), dynamic: { size: SIZE, timeoutMs: 1_000 } };
  const pods = { ...set('pods', [address]), verdicts: true };
  const ports = { ...set('ports', ['inet_proto', 'inet_service']), verdicts: true };
  const to: ElementValue = { verdict: { kind: 'goto', chain: 'class' }, comment: COMMENT };
  return [
    { op: 'addTable', family },
    { op: 'addChain', family, chain: 'class' },
    { op: 'addChain', family, chain: 'rules' },
    ...[peers, networks, named, sources, senders, pods, ports].map(
      (spec): Op => ({ op: 'addSet', family, set: spec, size: SIZE }),
    ),
    addElement(family, peers, ADDRESS[family], {}),
    addElement(family, networks, NETWORK[family], {}),
    addElement(family, named, `${ADDRESS[family]} . tcp . 80`, {}),
    addElement(family, pods, ADDRESS[family], to),
    addElement(family, ports, 'tcp . 80', to),
    ...rules(family).map(exprs => addRule(family, exprs)),
  ];
}

/**
 * A rule for each of these expressions. They are tried apart from the sample, because the agent can do without them.
 */
export const SAMPLE_OF_LOGS: readonly Expr[] = [
  limitOver({ perSecond: 5, burst: 10 }),
  logTo({ group: 1, prefix: COMMENT, snaplen: 128 }),
];

export const SAMPLE_OF_LAST: readonly Expr[] = [{ kind: 'last' }];

/** What a rule needs to queue packets and to recognize DNS answers. */
export function sampleOfQueue(by: QueueBy): readonly Expr[] {
  return [...noRouteBack(), ...isReply(), ...originalPortIs(53), ...queueTo(53, by)];
}

/** What tables of bridges need in addition: their hooks, and matches of frames and senders. */
export function sampleOfBridges(): Op[] {
  const family = 'bridge';
  const senders = set('senders', ['iface_index', 'ether_addr', 'ipv4_addr']);
  const ports = set('ports', ['iface_index']);
  const hook = { hook: 'prerouting', priority: -200, policy: 'accept' } as const;
  return [
    { op: 'addTable', family },
    { op: 'addChain', family, chain: 'rules' },
    { op: 'addChain', family, chain: 'hooked', hook },
    ...[senders, ports].map((spec): Op => ({ op: 'addSet', family, set: spec, size: SIZE })),
    addElement(family, senders, '1 . 0a:00:00:00:00:01 . 192.0.2.1', {}),
    addElement(family, ports, '1', {}),
    addRule(family, [...etherTypeIs('ip'), ...senderIn('ip', 'ip saddr', 'senders'), verdict('accept')]),
    addRule(family, [...forBridgeItself(), ...interfaceIn('iif', 'ports'), verdict('drop')]),
    addRule(family, [...etherTypeIs('arp'), ...senderIsUnspecified('arp'), verdict('drop')]),
    addRule(family, [...packetTypeIs('host', true), ...interfaceKindIs('veth'), verdict('drop')]),
    addRule(family, [...icmpTypeIs('ip6', 136), verdict('drop')]),
    addRule(family, [...isFragment(), verdict('drop')]),
  ];
}

/** Host ports, masquerading, and the check of source addresses. */
function sampleOfPods(family: Family): Op[] {
  const address = addressType(family);
  const ports: SetSpec = {
    ...set('host-ports', ['inet_proto', 'inet_service']),
    data: [address, 'inet_service'],
  };
  const pairs = set('pairs', [address, address]);
  const interfaces = set('interfaces', ['iface_index']);
  return [
    ...[ports, pairs, interfaces].map((spec): Op => ({ op: 'addSet', family, set: spec, size: SIZE })),
    addElement(family, ports, 'tcp . 80', { data: `${ADDRESS[family]} . 8080`, comment: COMMENT }),
    addElement(family, pairs, `${ADDRESS[family]} . ${ADDRESS[family]}`, {}),
    addElement(family, interfaces, '1', {}),
    addRule(family, [...interfaceGroupIs('iifgroup', 1), ...noRouteBack(), verdict('drop')]),
    addRule(family, [...interfaceIn('iif', 'interfaces'), ...icmpTypeIs(family, 9), verdict('drop')]),
    addRule(family, [...packetTypeIs('broadcast'), verdict('drop')]),
    addRule(family, [...interfaceIs('iif', 7, true), ...interfaceKindIs('veth'), verdict('drop')]),
    addRule(family, [...addressTypeIs('daddr', 'local'), ...redirectByPort(family, 'host-ports')]),
    addRule(family, [...interfaceGroupIs('oifgroup', 1), verdict('return')]),
    addRule(family, [...addressPairIn(family, 'pairs'), masquerade()]),
  ];
}

function rules(family: Family): Expr[][] {
  const accept = verdict('accept');
  const matches = [
    ctStateAny(CT_STATE.established),
    ctStateIsNot('new'),
    isTranslated(),
    isSourceTranslated(),
    addressIn(family, 'saddr', 'peers'),
    addressIn(family, 'daddr', 'networks', true),
    addressInNetwork(parseCidr(NETWORK[family])!, 'saddr'),
    addressProtocolPortIn(family, 'daddr', 'named'),
    protocolIs(family, 'tcp'),
    destinationPort(80, 90),
    notOpeningTcp(family),
    notOpeningSctp(family),
    notFromLoopback(),
    isForwarded(),
    ...(family === 'ip6' ? [neighbourDiscovery()] : []),
  ];
  return [
    ...matches.map(exprs => [...exprs, accept]),
    addressVmap(family, 'saddr', 'pods'),
    protocolPortVmap(family, 'ports'),
    rememberSender(family, 'senders'),
    [...senderIsConnectionEnd(family, 'original', 'senders'), accept],
    [...senderIsConnectionEnd(family, 'reply', 'senders'), accept],
    [verdict('jump', 'class')],
    [{ kind: 'counter' }, verdict('drop')],
  ];
}

function set(name: string, key: readonly FieldType[]): SetSpec {
  return { name, key, verdicts: false, interval: false, comment: COMMENT };
}

function addRule(family: TableFamily, exprs: readonly Expr[]): Op {
  return { op: 'addRule', family, chain: 'rules', rule: { exprs, comment: COMMENT } };
}

function addElement(family: TableFamily, spec: SetSpec, key: ElementKey, value: ElementValue): Op {
  return { op: 'addElements', family, set: spec, elements: [[key, value]] };
}
