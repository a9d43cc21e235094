import { describe, expect, it } from 'vitest';
import { parseCidr } from '../../model/address.ts';
import {
  addressIn,
  addressInNetwork,
  addressPairIn,
  addressProtocolPortIn,
  addressTypeIs,
  addressVmap,
  CT_STATE,
  ctStateAny,
  destinationPort,
  hopsLeft,
  icmpTypeIs,
  limitOver,
  loadSource,
  logTo,
  masquerade,
  neighbourDiscovery,
  protocolIs,
  protocolPortVmap,
  redirectByPort,
  update,
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
import { type Chain, type Expr, type Family, MEMBER, type NftSet, type Ruleset } from '../ruleset.ts';
import { formatRule, formatRuleset } from './format.ts';

describe('formatRule()', () => {
  const ACCEPT = verdict('accept');
  const cases: [string, Family, Expr[]][] = [
    [
      'ct state established,related accept',
      'ip',
      [...ctStateAny(CT_STATE.established | CT_STATE.related), ACCEPT],
    ],
    ['ip saddr @peers', 'ip', addressIn('ip', 'saddr', 'peers')],
    ['ip6 daddr != @peers', 'ip6', addressIn('ip6', 'daddr', 'peers', true)],
    ['ip saddr vmap @egress-pods', 'ip', addressVmap('ip', 'saddr', 'egress-pods')],
    ['ip saddr 10.0.0.0/8', 'ip', addressInNetwork(parseCidr('10.0.0.0/8')!, 'saddr')],
    ['ip daddr != 10.1.0.0/16', 'ip', addressInNetwork(parseCidr('10.1.0.0/16')!, 'daddr', true)],
    ['ip daddr 10.0.0.1', 'ip', addressInNetwork(parseCidr('10.0.0.1/32')!, 'daddr')],
    ['ip saddr != 0.0.0.0/0', 'ip', addressInNetwork(parseCidr('0.0.0.0/0')!, 'saddr', true)],
    ['ip6 saddr fd00::/15', 'ip6', addressInNetwork(parseCidr('fd00::/15')!, 'saddr')],
    ['ip protocol tcp th dport 80', 'ip', [...protocolIs('ip', 'tcp'), ...destinationPort(80, 80)]],
    [
      'ip protocol udp th dport 1000-2000',
      'ip',
      [...protocolIs('ip', 'udp'), ...destinationPort(1000, 2000)],
    ],
    ['ip protocol . th dport vmap @ports', 'ip', protocolPortVmap('ip', 'ports')],
    ['meta l4proto . th dport vmap @ports', 'ip6', protocolPortVmap('ip6', 'ports')],
    ['ip daddr . ip protocol . th dport @s', 'ip', addressProtocolPortIn('ip', 'daddr', 's')],
    ['ip6 saddr . meta l4proto . th dport @s', 'ip6', addressProtocolPortIn('ip6', 'saddr', 's')],
    ['icmpv6 type 133-137 accept', 'ip6', [...neighbourDiscovery(), ACCEPT]],
    ['iifgroup 29548 drop', 'ip', [...interfaceGroupIs('iifgroup', 29548), verdict('drop')]],
    ['iif 7', 'ip', interfaceIs('iif', 7)],
    ['iif != 7 meta iifkind "veth"', 'ip6', [...interfaceIs('iif', 7, true), ...interfaceKindIs('veth')]],
    ['oif != @links', 'ip', interfaceIn('oif', 'links', true)],
    ['meta pkttype broadcast', 'ip', packetTypeIs('broadcast')],
    ['fib saddr . iif oif missing drop', 'ip', [...noRouteBack(), verdict('drop')]],
    ['fib daddr type != local', 'ip6', addressTypeIs('daddr', 'local', true)],
    ['ip saddr . ip daddr @pairs masquerade', 'ip', [...addressPairIn('ip', 'pairs'), masquerade()]],
    ['dnat to ip protocol . th dport map @ports', 'ip', redirectByPort('ip', 'ports')],
    ['dnat to meta l4proto . th dport map @ports', 'ip6', redirectByPort('ip6', 'ports')],
    ['ip6 hoplimit != 255', 'ip6', hopsLeft('ip6', 'neq', 255)],
    ['ip ttl < 2', 'ip', hopsLeft('ip', 'lt', 2)],
    ['icmpv6 type 134 drop', 'ip6', [...icmpTypeIs('ip6', 134), verdict('drop')]],
    [
      '[ nat dnat ip addr reg 4 proto reg 5 ]',
      'ip',
      [{ kind: 'nat', type: 'dnat', family: 'ip', address: 4, port: 5 }],
    ],
    [
      'update @sources { ip saddr limit rate over 5/second burst 20 packets } drop',
      'ip',
      [loadSource('ip'), update('sources', { over: { perSecond: 5, burst: 20 } }), verdict('drop')],
    ],
    [
      'limit rate over 9/second burst 18 packets drop',
      'ip6',
      [limitOver({ perSecond: 9, burst: 18 }), verdict('drop')],
    ],
    [
      'log prefix "denied: " group 60 snaplen 128 drop',
      'ip',
      [logTo({ group: 60, prefix: 'denied: ', snaplen: 128 }), verdict('drop')],
    ],
    ['counter goto in-K3Q7-shop/web', 'ip', [{ kind: 'counter' }, verdict('goto', 'in-K3Q7-shop/web')]],
    ['counter last accept', 'ip', [{ kind: 'counter' }, { kind: 'last' }, ACCEPT]],
    ['meta nfproto ipv4 drop', 'ip', [...nfproto('02'), verdict('drop')]],
    [
      'th dport != 80',
      'ip',
      [destinationPort(80, 80)[0]!, { kind: 'cmp', sreg: 0, op: 'neq', data: '0050' }],
    ],
    ['@nh,8,8 0xb8', 'ip', [load(1, 1), { kind: 'cmp', sreg: 0, op: 'eq', data: 'b8' }]],
    ['[ limit ] accept', 'ip', [{ kind: 'unknown', name: 'limit' }, ACCEPT]],
    ['[ cmp eq reg 3 0x01 ]', 'ip', [{ kind: 'cmp', sreg: 3, op: 'eq', data: '01' }]],
  ];
  it.each(cases)('writes %s', (text, family, exprs) => {
    expect(formatRule(family, { exprs })).toBe(text);
  });

  it('puts the comment last, and no quote inside of its quotes', () => {
    const rule = { exprs: [verdict('drop')], comment: 'shop/web "front"' };
    expect(formatRule('ip', rule)).toBe(`drop comment "shop/web 'front'"`);
  });
});

describe('formatRuleset()', () => {
  it('writes sets first, then chains, each element with its comment and verdict', () => {
    expect(formatRuleset(shop())).toBe(`table ip sluice {
	set peers-3F {
		type ipv4_addr
		size 256
		comment "app=lb"
		elements = { 10.0.0.1, 10.0.0.2 }
	}

	map ingress-pods {
		type ipv4_addr : verdict
		elements = {
			10.244.1.5 comment "shop/web-0" : goto in-K3Q7-shop/web,
			10.244.1.6 comment "shop/web-1" : goto in-K3Q7-shop/web
		}
	}

	set nets {
		type ipv4_addr
		flags interval
		elements = { 10.0.0.0/8, 192.0.2.1-192.0.2.9 }
	}

	chain forward {
		type filter hook forward priority filter; policy accept;
		ip daddr vmap @ingress-pods
	}

	chain in-K3Q7-shop/web {
		ip saddr @peers-3F accept comment "shop/allow-web ingress[0]"
		drop
	}
}

table ip6 sluice {
}
`);
  });

  it('writes nothing for no table', () => {
    expect(formatRuleset({ tables: new Map() })).toBe('');
  });
});

function nfproto(data: string): Expr[] {
  return [
    { kind: 'meta', key: 'nfproto', dreg: 0 },
    { kind: 'cmp', sreg: 0, op: 'eq', data },
  ];
}

function load(offset: number, length: number): Expr {
  return { kind: 'payload', base: 'network', offset, length, dreg: 0 };
}

function shop(): Ruleset {
  const goto = { kind: 'goto', chain: 'in-K3Q7-shop/web' } as const;
  const address = { key: ['ipv4_addr'], verdicts: false, interval: false } as const;
  const sets: NftSet[] = [
    {
      ...address,
      name: 'peers-3F',
      comment: 'app=lb',
      size: 256,
      elements: new Map([
        ['10.0.0.1', MEMBER],
        ['10.0.0.2', MEMBER],
      ]),
    },
    {
      ...address,
      name: 'ingress-pods',
      verdicts: true,
      elements: new Map([
        ['10.244.1.5', { verdict: goto, comment: 'shop/web-0' }],
        ['10.244.1.6', { verdict: goto, comment: 'shop/web-1' }],
      ]),
    },
    {
      ...address,
      name: 'nets',
      interval: true,
      elements: new Map([
        ['10.0.0.0/8', MEMBER],
        ['192.0.2.1-192.0.2.9', MEMBER],
      ]),
    },
  ];
  const chains: Chain[] = [
    {
      name: 'forward',
      hook: { hook: 'forward', priority: 0, policy: 'accept' },
      rules: [{ exprs: addressVmap('ip', 'daddr', 'ingress-pods') }],
    },
    {
      name: goto.chain,
      rules: [
        {
          exprs: [...addressIn('ip', 'saddr', 'peers-3F'), verdict('accept')],
          comment: 'shop/allow-web ingress[0]',
        },
        { exprs: [verdict('drop')] },
      ],
    },
  ];
  const byName = <T extends { readonly name: string }>(items: readonly T[]) =>
    new Map(items.map(item => [item.name, item]));
  return {
    tables: new Map([
      ['ip', { sets: byName(sets), chains: byName(chains) }],
      ['ip6', { sets: new Map(), chains: new Map() }],
    ]),
  };
}
