import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../model/address.ts';
import {
  addressIn,
  addressInNetwork,
  addressProtocolPortIn,
  addressVmap,
  CT_STATE,
  ctStateAny,
  destinationPort,
  neighbourDiscovery,
  protocolIs,
  protocolPortVmap,
  verdict,
} from '../match.ts';
import {
  type BaseHook,
  type Chain,
  type ElementValue,
  type Expr,
  type Family,
  type FieldType,
  MEMBER,
  type NftRule,
  type NftSet,
  type Ruleset,
} from '../ruleset.ts';
import { type PacketFields, packet } from './packet.ts';
import { type Hit, type Trace, trace } from './trace.ts';

const [ACCEPT, DROP, RETURN] = [verdict('accept'), verdict('drop'), verdict('return')];
const rule = (...exprs: Expr[]): NftRule => ({ exprs });
const jump = (chain: string) => rule(verdict('jump', chain));
const goto = (chain: string) => rule(verdict('goto', chain));

describe('trace() walks chains: ', () => {
  const cases: [string, string, Record<string, NftRule[]>][] = [
    ['the end of the base chain is its policy', 'policy', { base: [] }],
    ['a return from the base chain is its policy', 'base:0 policy', { base: [rule(RETURN), rule(DROP)] }],
    ['a jump comes back behind itself', 'base:0 base:1 drop', { base: [jump('a'), rule(DROP)], a: [] }],
    [
      'a return comes back behind the jump',
      'base:0 a:0 base:1 drop',
      { base: [jump('a'), rule(DROP)], a: [rule(RETURN), rule(ACCEPT)] },
    ],
    ['a goto does not come back', 'base:0 policy', { base: [goto('a'), rule(DROP)], a: [] }],
    [
      'a return from a chain that was gone to ends the base chain',
      'base:0 a:0 policy',
      { base: [goto('a'), rule(DROP)], a: [rule(RETURN), rule(DROP)] },
    ],
    [
      'the end of a chain that was gone to comes back behind the last jump',
      'base:0 a:0 base:1 drop',
      { base: [jump('a'), rule(DROP)], a: [goto('b'), rule(ACCEPT)], b: [] },
    ],
    [
      'a jump behind a goto comes back to the chain that was gone to',
      'base:0 a:0 b:0 b:1 drop',
      { base: [goto('a')], a: [goto('b')], b: [jump('c'), rule(DROP)], c: [] },
    ],
    [
      'jumps nest',
      'base:0 a:0 b:0 a:1 base:1 drop',
      { base: [jump('a'), rule(DROP)], a: [jump('b'), rule(RETURN)], b: [rule(RETURN)] },
    ],
    [
      'an accept ends it in any depth',
      'base:0 a:0 accept',
      { base: [jump('a'), rule(DROP)], a: [rule(ACCEPT)] },
    ],
    [
      'a log expression goes on, and no packet exceeds a limit',
      'base:1 base:2 drop',
      {
        base: [
          rule({ kind: 'limit', perSecond: 1, burst: 1, over: true }, DROP),
          rule({ kind: 'log', group: 1, prefix: '', snaplen: 64 }),
          rule({ kind: 'limit', perSecond: 1, burst: 1, over: false }, DROP),
        ],
      },
    ],
    [
      'a rule without a verdict is passed through',
      'base:0 base:1 drop',
      { base: [rule({ kind: 'counter' }, { kind: 'last' }), rule(DROP)] },
    ],
  ];
  it.each(cases)('%s', (_, expected, chains) => {
    const all = Object.entries(chains).map(
      ([name, rules]): Chain => ({ name, rules, ...(name === 'base' && HOOKED) }),
    );
    const policies = { accept: 'policy', drop: 'policy' } as const;
    for (const policy of ['accept', 'drop'] as const) {
      const traced = trace(withPolicy(all, policy), 'ip', 'forward', SYN, 'new');
      const path = traced.hits.map(({ chain, rule }) => `${chain}:${rule}`);
      const last = traced.hits.at(-1)?.verdict?.kind;
      const end = last === 'accept' || last === 'drop' ? last : policies[policy];
      expect([...path, end].join(' ')).toBe(expected);
      expect(traced.verdict).toBe(end === 'policy' ? policy : end);
    }
  });

  it('base chains of one hook go by priority; an accept ends one of them, a drop all', () => {
    const base = (name: string, priority: number, ...rules: NftRule[]): Chain => ({
      name,
      hook: { hook: 'forward', priority, policy: 'accept' },
      rules,
    });
    const late = base('late', 10, rule(DROP));
    expect(path(run([late, base('early', -10, rule(ACCEPT))]))).toBe('early:0 late:0 drop');
    expect(path(run([late, base('early', -10, rule(DROP))]))).toBe('early:0 drop');
    expect(path(run([{ ...late, hook: { ...late.hook!, hook: 'input' } }]))).toBe('accept');
  });

  it('a family without a table accepts', () => {
    expect(trace({ tables: new Map() }, 'ip', 'forward', SYN, 'new')).toEqual({
      verdict: 'accept',
      hits: [],
    });
  });
});

describe('trace() matches', () => {
  const from10 = { from: '10.1.2.3', to: '10.0.0.2', protocol: 'TCP', port: 80 } as const;
  const from6 = { from: 'fd00::1', to: 'fd00::2', protocol: 'UDP', port: 53 } as const;
  const hop = (bytes: string): Expr => ({ kind: 'cmp', sreg: 0, op: 'eq', data: bytes });
  const cases: [string, boolean, Family, Fields, Expr[]][] = [
    ['a network', true, 'ip', from10, addressInNetwork(cidr('ip', '10.0.0.0', 8), 'saddr')],
    [
      'a network of another length',
      false,
      'ip',
      from10,
      addressInNetwork(cidr('ip', '10.2.0.0', 15), 'saddr'),
    ],
    ['an odd prefix', true, 'ip', from10, addressInNetwork(cidr('ip', '10.0.0.0', 15), 'saddr')],
    ['not a network', false, 'ip', from10, addressInNetwork(cidr('ip', '10.1.0.0', 16), 'saddr', true)],
    ['an IPv6 network', true, 'ip6', from6, addressInNetwork(cidr('ip6', 'fd00::', 127), 'saddr')],
    ['a port', true, 'ip', from10, [...protocolIs('ip', 'tcp'), ...destinationPort(80, 80)]],
    ['a range at its ends', true, 'ip', from10, destinationPort(80, 90)],
    ['a range past its ends', false, 'ip', from10, destinationPort(81, 90)],
    ['a protocol', false, 'ip', from10, protocolIs('ip', 'udp')],
    ['a protocol of IPv6', true, 'ip6', from6, protocolIs('ip6', 'udp')],
    ['a state', true, 'ip', from10, ctStateAny(CT_STATE.new)],
    ['another state', false, 'ip', from10, ctStateAny(CT_STATE.established | CT_STATE.related)],
    ['a set', true, 'ip', from10, addressIn('ip', 'daddr', 'peers')],
    ['not a set', false, 'ip', from10, addressIn('ip', 'daddr', 'peers', true)],
    ['no element of a set', true, 'ip', from10, addressIn('ip', 'saddr', 'peers', true)],
    ['an element of three fields', true, 'ip', from10, addressProtocolPortIn('ip', 'daddr', 'triples')],
    [
      'one of three fields',
      false,
      'ip',
      { ...from10, port: 81 },
      addressProtocolPortIn('ip', 'daddr', 'triples'),
    ],
    ['an interval', true, 'ip', { ...from10, from: '172.16.0.9' }, addressIn('ip', 'saddr', 'nets')],
    [
      'the end of an interval',
      false,
      'ip',
      { ...from10, from: '172.16.0.10' },
      addressIn('ip', 'saddr', 'nets'),
    ],
    [
      'the last interval',
      true,
      'ip',
      { ...from10, from: '192.168.255.255' },
      addressIn('ip', 'saddr', 'nets'),
    ],
    ['below all intervals', false, 'ip', { ...from10, from: '1.0.0.0' }, addressIn('ip', 'saddr', 'nets')],
    ['neighbour discovery', true, 'ip6', { ...from6, protocol: 'ICMP', icmpType: 135 }, neighbourDiscovery()],
    ['an echo as neighbour discovery', false, 'ip6', { ...from6, protocol: 'ICMP' }, neighbourDiscovery()],
    [
      'bytes behind the end of the packet',
      false,
      'ip',
      from10,
      [payload('transport', 18, 4), hop('00000000')],
    ],
    [
      'bytes at the end of the packet',
      true,
      'ip',
      from10,
      [payload('transport', 16, 4), { ...hop('00000000'), op: 'neq' } as Expr],
    ],
    ['a family', true, 'ip', from10, [{ kind: 'meta', key: 'nfproto', dreg: 0 }, hop('02')]],
  ];
  it.each(cases)('%s: %s', (_, matches, family, fields, exprs) => {
    expect(run([base(rule(...exprs, DROP))], fields, family).verdict).toBe(matches ? 'drop' : 'accept');
  });

  it('behind the options of an IPv4 header', () => {
    const plain = packet(parse(from10));
    const options = Uint8Array.from([0x46, ...plain.subarray(1, 20), 1, 1, 1, 1, ...plain.subarray(20)]);
    const rules = [base(rule(...destinationPort(80, 80), DROP))];
    expect(trace(ruleset('ip', rules), 'ip', 'forward', options, 'new').verdict).toBe('drop');
  });

  it('in all states of a connection', () => {
    for (const state of ['new', 'established', 'related', 'untracked'] as const) {
      const rules = [base(rule(...ctStateAny(CT_STATE[state]), DROP))];
      expect(trace(ruleset('ip', rules), 'ip', 'forward', SYN, state).verdict).toBe('drop');
      const others = Object.values(CT_STATE).reduce((bits, bit) => bits | bit, 0) & ~CT_STATE[state];
      const not = [base(rule(...ctStateAny(others), DROP))];
      expect(trace(ruleset('ip', not), 'ip', 'forward', SYN, state).verdict).toBe('accept');
    }
  });
});

describe('trace() names', () => {
  it('the rule by chain, index and comment, and the element whose verdict it was', () => {
    const chains: Chain[] = [
      base(rule(...protocolIs('ip', 'udp'), DROP), rule(...addressVmap('ip', 'daddr', 'pods'))),
      {
        name: 'in-web',
        rules: [rule(...protocolPortVmap('ip', 'ports')), { exprs: [DROP], comment: 'isolated' }],
      },
    ];
    const to = (port: number) =>
      run(chains, { from: '10.0.0.9', to: '10.0.0.2', protocol: 'TCP', port }).hits;
    const goto: Hit = {
      chain: 'base',
      rule: 1,
      verdict: { kind: 'goto', chain: 'in-web' },
      element: { set: 'pods', key: '10.0.0.2', comment: 'shop/web-0' },
    };
    expect(to(81)).toEqual([
      goto,
      { chain: 'in-web', rule: 1, comment: 'isolated', verdict: { kind: 'drop' } },
    ]);
    expect(to(80)).toEqual([
      goto,
      { chain: 'in-web', rule: 0, verdict: { kind: 'accept' }, element: { set: 'ports', key: 'tcp . 80' } },
    ]);
  });

  it('what is missing from the ruleset', () => {
    expect(() => run([base(rule(...addressIn('ip', 'saddr', 'nope')))])).toThrow('set nope does not exist');
    expect(() => run([base(jump('nope'))])).toThrow('chain nope does not exist');
    expect(() => run([base(rule({ kind: 'unknown', name: 'limit' }))])).toThrow('"limit" is not ours');
  });
});

type Fields = Omit<PacketFields, 'from' | 'to'> & { readonly from: string; readonly to: string };

const HOOKED: { hook: BaseHook } = { hook: { hook: 'forward', priority: 0, policy: 'accept' } };
const SYN_FIELDS: Fields = { from: '10.0.0.1', to: '10.0.0.2', protocol: 'TCP', port: 80 };
const SYN = packet(parse(SYN_FIELDS));

function parse(fields: Fields): PacketFields {
  return { ...fields, from: parseAddress(fields.from)!, to: parseAddress(fields.to)! };
}

function cidr(family: Family, base: string, prefix: number) {
  return { family, base: parseAddress(base)!, prefix };
}

function payload(base: 'network' | 'transport', offset: number, length: number): Expr {
  return { kind: 'payload', base, offset, length, dreg: 0 };
}

function base(...rules: NftRule[]): Chain {
  return { name: 'base', ...HOOKED, rules };
}

function run(chains: readonly Chain[], fields = SYN_FIELDS, family: Family = 'ip'): Trace {
  return trace(ruleset(family, chains), family, 'forward', packet(parse(fields)), 'new');
}

function path({ hits, verdict }: Trace): string {
  return [...hits.map(({ chain, rule }) => `${chain}:${rule}`), verdict].join(' ');
}

function withPolicy(chains: readonly Chain[], policy: 'accept' | 'drop'): Ruleset {
  return ruleset(
    'ip',
    chains.map(chain => (chain.hook === undefined ? chain : { ...chain, hook: { ...chain.hook, policy } })),
  );
}

function ruleset(family: Family, chains: readonly Chain[]): Ruleset {
  const byName = <T extends { readonly name: string }>(items: readonly T[]) =>
    new Map(items.map(item => [item.name, item]));
  return { tables: new Map([[family, { sets: byName(SETS), chains: byName(chains) }]]) };
}

function set(
  name: string,
  key: readonly FieldType[],
  elements: Record<string, ElementValue>,
  interval = false,
): NftSet {
  const verdicts = Object.values(elements).some(({ verdict }) => verdict !== undefined);
  return { name, key, verdicts, interval, elements: new Map(Object.entries(elements)) };
}

const SETS: NftSet[] = [
  set('peers', ['ipv4_addr'], { '10.0.0.2': MEMBER, '10.0.0.3': MEMBER }),
  set('triples', ['ipv4_addr', 'inet_proto', 'inet_service'], { '10.0.0.2 . tcp . 80': MEMBER }),
  set(
    'nets',
    ['ipv4_addr'],
    { '192.168.0.0/16': MEMBER, '172.16.0.3-172.16.0.9': MEMBER, '10.9.0.0/16': MEMBER },
    true,
  ),
  set('pods', ['ipv4_addr'], {
    '10.0.0.2': { verdict: { kind: 'goto', chain: 'in-web' }, comment: 'shop/web-0' },
  }),
  set('ports', ['inet_proto', 'inet_service'], { 'tcp . 80': { verdict: { kind: 'accept' } } }),
];
