import { expect, test } from 'vitest';
import { type Address, addressBits, type Family } from '../../model/address.ts';
import {
  addressPairIn,
  addressTypeIs,
  hopsLeft,
  icmpTypeIs,
  masquerade,
  redirectByPort,
  verdict,
} from '../match.ts';
import {
  interfaceGroupIs,
  interfaceIn,
  interfaceIs,
  interfaceKindIs,
  noRouteBack,
  packetTypeIs,
} from '../matchinterface.ts';
import { type BaseHook, type Chain, type Expr, MEMBER, type NftSet, type Ruleset } from '../ruleset.ts';
import type { CtState, PacketContext } from './machine.ts';
import { packet } from './packet.ts';
import { type Trace, trace } from './trace.ts';

const POD: Record<Family, string> = { ip: '10.0.0.5', ip6: 'fd00::5' };
const NODE: Record<Family, string> = { ip: '192.0.2.1', ip6: '2001:db8::1' };
const LOCAL: Partial<PacketContext> = { route: () => ({ oif: 0, type: 'local' }) };

test.each(['ip', 'ip6'] as const)('a port of the node leads to the %s pod that the map names', family => {
  const rule = [...addressTypeIs('daddr', 'local'), ...redirectByPort(family, 'host-ports')];
  const run = (port: number, around: Partial<PacketContext>, ctState: CtState = 'new') =>
    walk(family, [chain('led', NAT, [rule])], { to: NODE[family], port }, around, ctState);
  expect(run(80, LOCAL).hits).toEqual([
    {
      chain: 'led',
      rule: 0,
      verdict: { kind: 'accept' },
      translation: { kind: 'dnat', to: POD[family], port: 8080 },
    },
  ]);
  expect(run(81, LOCAL).hits, 'a port that leads nowhere').toEqual([]);
  expect(run(80, {}).hits, 'an address of somebody else').toEqual([]);
  expect(run(80, LOCAL, 'established').hits, 'what was opened before').toEqual([]);
});

test('one chain of a hook translates a connection, and later ones are skipped', () => {
  const chains = [
    chain('second', { ...NAT, priority: 7 }, [[verdict('drop')]]),
    chain('first', NAT, [redirectByPort('ip', 'host-ports')]),
  ];
  const run = (port: number) => walk('ip', chains, { to: NODE.ip, port }, {}, 'new');
  expect(run(80)).toMatchObject({ verdict: 'accept', hits: [{ chain: 'first' }] });
  expect(run(81)).toMatchObject({ verdict: 'drop', hits: [{ chain: 'second' }] });
});

test('who reaches himself leaves by an address of the node', () => {
  const leaving = chain('leaving', NAT, [[...addressPairIn('ip', 'pairs'), masquerade()]]);
  const run = (from: string) => walk('ip', [leaving], { from, to: POD.ip }, {}, 'new').hits;
  expect(run(POD.ip)).toMatchObject([{ translation: { kind: 'masquerade' } }]);
  expect(run('10.0.0.6')).toEqual([]);
});

test.each<[string, Expr[], Partial<PacketContext>, Partial<PacketContext>]>([
  ['the group it came in by', interfaceGroupIs('iifgroup', 7), { iifgroup: 7 }, { iifgroup: 8 }],
  ['no group where it came in by none', interfaceGroupIs('iifgroup', 0), {}, { iif: 0 }],
  [
    'the group it leaves by',
    interfaceGroupIs('oifgroup', 7),
    { oif: 3, oifgroup: 7 },
    { oif: 0, oifgroup: 7 },
  ],
  ['the kind of its interface', interfaceKindIs('veth'), { iifkind: 'veth' }, { iifkind: 'veth0' }],
  ['no kind of hardware', interfaceKindIs('veth'), { iifkind: 'veth' }, {}],
  ['one interface', interfaceIs('iif', 7), { iif: 7 }, { iif: 8 }],
  ['the interface it came in by', interfaceIn('iif', 'links'), { iif: 70_000 }, { iif: 2 }],
  ['whom its frame was for', packetTypeIs('broadcast'), { pkttype: 'broadcast' }, { pkttype: 'host' }],
  ['a sender whose route leads elsewhere', noRouteBack(), back(4), back(2)],
  ['a sender to whom there is no route', noRouteBack(), back(0), back(2)],
  ['what an address is to the node', addressTypeIs('saddr', 'local'), LOCAL, {}],
])('a rule knows %s', (_, exprs, yes, no) => {
  const source = chain('source', { hook: 'prerouting', priority: -300, policy: 'accept' }, [
    [...exprs, verdict('drop')],
  ]);
  const run = (around: Partial<PacketContext>) =>
    walk('ip', [source], { to: NODE.ip }, around, 'new').verdict;
  expect([run(yes), run(no)]).toEqual(['drop', 'accept']);
});

test('a rule knows the type of an ICMPv6 message and the hops that it may still go', () => {
  const exprs = [...hopsLeft('ip6', 'eq', 64), ...icmpTypeIs('ip6', 134), verdict('drop')];
  const run = (icmpType: number) =>
    walk('ip6', [chain('source', NAT, [exprs])], { to: NODE.ip6, protocol: 'ICMP', icmpType }, {}, 'new')
      .verdict;
  expect([run(134), run(128)]).toEqual(['drop', 'accept']);
});

const NAT: BaseHook = { type: 'nat', hook: 'prerouting', priority: -99, policy: 'accept' };

function back(oif: number): Partial<PacketContext> {
  return { iif: 2, route: () => ({ oif, type: 'unicast' }) };
}

function chain(name: string, hook: BaseHook, rules: readonly Expr[][]): Chain {
  return { name, hook, rules: rules.map(exprs => ({ exprs })) };
}

interface Fields {
  readonly from?: string;
  readonly to: string;
  readonly port?: number;
  readonly protocol?: 'TCP' | 'ICMP';
  readonly icmpType?: number;
}

function walk(
  family: Family,
  chains: readonly Chain[],
  { from = family === 'ip' ? '10.0.0.9' : 'fd00::9', to, protocol = 'TCP', port = 80, ...rest }: Fields,
  around: Partial<PacketContext>,
  ctState: CtState,
): Trace {
  const bytes = packet({ from: from as Address, to: to as Address, protocol, port, ...rest });
  return trace(ruleset(family, chains), family, 'prerouting', bytes, ctState, around);
}

function ruleset(family: Family, chains: readonly Chain[]): Ruleset {
  const address = addressBits(family) === 32 ? 'ipv4_addr' : 'ipv6_addr';
  const plain = { verdicts: false, interval: false };
  const sets: NftSet[] = [
    {
      ...plain,
      name: 'host-ports',
      key: ['inet_proto', 'inet_service'],
      data: [address, 'inet_service'],
      elements: new Map([['tcp . 80', { data: `${POD[family]} . 8080`, comment: 'shop/web' }]]),
    },
    {
      ...plain,
      name: 'pairs',
      key: [address, address],
      elements: new Map([[`${POD.ip} . ${POD.ip}`, MEMBER]]),
    },
    { ...plain, name: 'links', key: ['iface_index'], elements: new Map([['70000', MEMBER]]) },
  ];
  const byName = <T extends { readonly name: string }>(items: readonly T[]) =>
    new Map(items.map(item => [item.name, item]));
  return { tables: new Map([[family, { sets: byName(sets), chains: byName(chains) }]]) };
}
