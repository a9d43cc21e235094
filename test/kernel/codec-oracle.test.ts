/**
 * nft itself as the judge of our bytes. What we programmed and what nft made of the same ruleset as text must list
 * alike; and what nft programmed must read back, through our decoder, as the ruleset that the text was made from.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { podPortsTable } from '../../src/compiler/podports.ts';
import type { Address } from '../../src/model/address.ts';
import { formatRuleset } from '../../src/nft/format/format.ts';
import {
  ADDRESS_TYPE,
  addressIn,
  addressInNetwork,
  addressPairIn,
  addressProtocolPortIn,
  addressType,
  addressTypeIs,
  addressVmap,
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
} from '../../src/nft/match.ts';
import { isFragment } from '../../src/nft/matchextension.ts';
import {
  interfaceGroupIs,
  interfaceIn,
  interfaceIs,
  interfaceKindIs,
  noRouteBack,
  packetTypeIs,
} from '../../src/nft/matchinterface.ts';
import type { Op } from '../../src/nft/plan/op.ts';
import {
  type BaseHook,
  type Chain,
  type ElementKey,
  type ElementValue,
  type Expr,
  type Family,
  MEMBER,
  mapSets,
  type NftRule,
  type NftSet,
  type Ruleset,
  type Table,
} from '../../src/nft/ruleset.ts';
import { runs } from '../support/seed.ts';
import type { Netns } from './netns.ts';
import { kernelIn, namespace } from './opened.ts';

test('a table of bridges lists as nft would have made it', async () => {
  const ports = [
    { index: 7, mac: '0a:00:00:00:00:07', addresses: ['10.0.1.7', 'fd00::7'] as unknown as Address[] },
  ];
  const { chains, sets } = podPortsTable(
    {
      uplinks: [],
      podBridges: [3],
      podPorts: ports,
      bridgePorts: { others: [8, 9], unknown: [], macs: ['0a:00:00:00:00:01', '0a:00:00:00:00:02'] },
    },
    'deny',
  )!;
  // nft 1.0.6 has no name for the target of an advertisement (icmpv6 taddr), and cannot look it up by its bytes; and it
  // asks for IPv6 once more where a chain begins with ICMPv6 or a field of IPv6.
  const unsayable = [
    'advertised',
    'from-pod-port-ip6',
    'from-pod-port-icmpv6',
    'from-pod-port-link',
    'unread',
  ].map((name): [string, Chain] => [name, { name, rules: [] }]);
  // And of two ports it asks at once.
  const withoutPorts = [...chains.values()].map((chain): [string, Chain] => [
    chain.name,
    { ...chain, rules: chain.rules.filter(({ exprs }) => !exprs.some(isSourcePort)) },
  ]);
  const sayable = new Map([...withoutPorts, ...unsayable]);
  await judged({ tables: new Map([['bridge', { chains: sayable, sets }]]) });
});

function isSourcePort(expr: Expr): boolean {
  return expr.kind === 'payload' && expr.base === 'transport' && expr.offset === 0 && expr.length === 2;
}

test('both families of the layout list as nft would have made them, and cleanly', async () => {
  await judged({
    tables: new Map([
      ['ip', layout('ip')],
      ['ip6', layout('ip6')],
    ]),
  });
});

test('every match that we build lists as nft would have made it', async () => {
  await judged({ tables: new Map((['ip', 'ip6'] as const).map(family => [family, everyMatch(family)])) });
});

// nft 1.0.6 reads and lists no `last`; its library does.
test('a rule that remembers when it was met last is one to nft', async () => {
  const netns = namespace();
  const rule: NftRule = { exprs: [{ kind: 'counter' }, { kind: 'last' }, verdict('accept')] };
  const rules = { tables: new Map([['ip', table([], [{ name: 'every', rules: [rule] }])] as const]) };
  await (await kernelIn(netns)).commit(opsFor(rules));
  expect(netns.exec('nft', ['--debug=netlink', 'list', 'ruleset'])).toContain('[ last never ]');
});

test('random rulesets list as nft would have made them', async () => {
  let rules = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(), { minLength: 1, maxLength: 12 }),
      fc.constantFrom<Family>('ip', 'ip6'),
      async (picks, family) => {
        const { sets, chains } = everyMatch(family);
        const all = chains.get('every')!.rules;
        const some = picks.map(pick => all[pick % all.length]!);
        rules += some.length;
        await judged({
          tables: new Map([
            [family, { sets, chains: new Map(chains).set('every', { name: 'every', rules: some }) }],
          ]),
        });
      },
    ),
    { numRuns: runs(15, 8) },
  );
  expect(rules).toBeGreaterThan(30);
});

test('rules and sets of every other kind read back, and never as ours', async () => {
  const netns = namespace();
  netns.exec('nft', ['-f', '-'], FOREIGN);
  const { ruleset } = await (await kernelIn(netns)).dump();
  const { sets, chains } = ruleset.tables.get('ip')!;
  const foreign = [...chains.get('foreign')!.rules];
  expect(foreign.length).toBe(FOREIGN_RULES);
  for (const { exprs } of foreign) expect(exprs.map(({ kind }) => kind)).toContain('unknown');
  expect([...sets.keys()].sort()).toEqual(['learned', 'marks', 'nets-ports', 'ports', 'timed', 'wild']);
  for (const name of ['learned', 'marks', 'nets-ports', 'timed']) expect(sets.get(name)!.key).toEqual([]);
  // The anonymous set of a rule belongs to the rule; the rule itself is seen.
  expect(chains.get('anonymous')!.rules[0]!.exprs.at(-2)).toMatchObject({ kind: 'lookup', set: '__set0' });
  expect(sets.get('ports')!.elements).toEqual(
    new Map([
      ['80', MEMBER],
      ['90-99', { comment: 'nineties' }],
    ]),
  );
  expect(sets.get('wild')!.elements.get('*')).toEqual({ verdict: { kind: 'drop' } });
  expect(chains.get('nat')!.hook).toEqual({
    type: 'nat',
    hook: 'prerouting',
    priority: -100,
    policy: 'accept',
  });
});

test('somebody else’s tables are left out of a dump', async () => {
  const netns = namespace();
  netns.exec(
    'nft',
    ['-f', '-'],
    'table ip other { set s { type mark; }; chain c { log; }; }\ntable inet sluice { chain c { }; }\n',
  );
  expect((await (await kernelIn(netns)).dump()).ruleset).toEqual({ tables: new Map() });
});

async function judged(ruleset: Ruleset): Promise<void> {
  const [ours, theirs] = [namespace(), namespace()];
  const kernel = await kernelIn(ours);
  await kernel.commit(opsFor(ruleset));
  expect(unsized((await kernel.dump()).ruleset)).toEqual(ruleset);
  const text = formatRuleset((await kernel.dump()).ruleset);

  theirs.exec('nft', ['-f', '-'], text);
  expect(listing(ours)).toEqual(listing(theirs));
  expect(json(ours)).toEqual(json(theirs));
  expect(listing(ours)).not.toMatch(/invalid|unknown|0x|@nh|@th|@ll/);
  expect(unsized((await (await kernelIn(theirs)).dump()).ruleset)).toEqual(ruleset);
}

/** Without what nft says of the owner, which is another process for each; elements stand in the order of a hash. */
function listing(netns: Netns): string {
  return netns
    .exec('nft', ['list', 'ruleset'])
    .replaceAll(/ # progname .*$/gm, '')
    .replaceAll(/^\tflags owner\n\n?/gm, '')
    .replaceAll(/elements = \{([^}]*)\}/g, (_, list: string) => `elements = { ${sortedList(list)} }`);
}

function sortedList(list: string): string {
  return list
    .split(',')
    .map(element => element.trim())
    .sort()
    .join(', ');
}

function json(netns: Netns): unknown[] {
  const { nftables } = JSON.parse(netns.exec('nft', ['-j', 'list', 'ruleset'])) as {
    nftables: Record<string, unknown>[];
  };
  return nftables.filter(object => !('metainfo' in object)).map(neutral);
}

/** Handles count what was made before; elements stand in the order of a hash; the owner is a process. */
function neutral(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(neutral);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => key !== 'handle' && !(key === 'flags' && [inner].flat().includes('owner')))
      .map(([key, inner]) => [
        key,
        key === 'elem' && Array.isArray(inner) ? sortedJson(inner) : neutral(inner),
      ]),
  );
}

function sortedJson(list: unknown[]): unknown[] {
  return list.map(neutral).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function opsFor({ tables }: Ruleset): Op[] {
  return [...tables].flatMap(([family, { sets, chains }]): Op[] => [
    { op: 'addTable', family },
    ...[...chains.values()].map(
      ({ name, hook }): Op => ({ op: 'addChain', family, chain: name, ...(hook && { hook }) }),
    ),
    ...[...sets.values()].flatMap((set): Op[] => [
      { op: 'addSet', family, set, size: 64 },
      { op: 'addElements', family, set, elements: [...set.elements] },
    ]),
    ...[...chains.values()].flatMap(({ name, rules }) =>
      rules.map((rule): Op => ({ op: 'addRule', family, chain: name, rule })),
    ),
  ]);
}

function unsized(ruleset: Ruleset): Ruleset {
  return mapSets(ruleset, ({ size: _, ...set }) => set);
}

type Entries = readonly (readonly [ElementKey, ElementValue])[];

const addresses = {
  ip: {
    pod: '10.244.1.5',
    peers: ['10.0.0.1', '10.0.0.2'],
    nets: ['10.0.0.0/8', '192.168.1.1/32', '172.16.0.1-172.16.0.9', '240.0.0.0/4'],
  },
  ip6: {
    pod: 'fd00:1::5',
    peers: ['fd00::1', '2001:db8::1'],
    nets: ['fd00::/8', '2001:db8::1/128', '2001:db8::5-2001:db8::9'],
  },
} as const;

/** The tables of design.md, small. */
function layout(family: Family): Table {
  const { pod, peers, nets } = addresses[family];
  const address = addressType(family);
  const jump = { verdict: { kind: 'goto', chain: 'in-K3Q7-shop/web' }, comment: 'shop/web-0' } as const;
  return table(
    [
      nftSet('ingress-pods', [address], [[pod, jump]]),
      nftSet(
        'in-K3Q7-ports',
        ['inet_proto', 'inet_service'],
        [
          ['tcp . 80', { verdict: { kind: 'goto', chain: 'cp-1' } }],
          ['udp . 53', { verdict: { kind: 'accept' } }],
          ['sctp . 9', { verdict: { kind: 'drop' } }],
        ],
      ),
      nftSet(
        'peers-3F00AA',
        [address],
        peers.map(peer => [peer, MEMBER]),
        'namespace shop',
      ),
      {
        ...nftSet(
          'nets-77',
          [address],
          nets.map(net => [net, MEMBER]),
        ),
        interval: true,
      },
    ],
    [
      {
        name: 'forward',
        hook: { hook: 'forward', priority: 0, policy: 'accept' },
        rules: [
          { exprs: [...ctStateAny(6), verdict('accept')] },
          { exprs: addressVmap(family, 'daddr', 'ingress-pods') },
        ],
      },
      { name: 'input', hook: { hook: 'input', priority: 0, policy: 'accept' }, rules: [] },
      {
        name: 'in-K3Q7-shop/web',
        rules: [
          { exprs: protocolPortVmap(family, 'in-K3Q7-ports') },
          {
            exprs: [...protocolIs(family, 'tcp'), ...destinationPort(1000, 2000), verdict('goto', 'cp-1')],
            comment: 'shop/web: ingress[0]',
          },
          { exprs: [verdict('drop')] },
        ],
      },
      {
        name: 'cp-1',
        rules: [
          {
            exprs: [...addressIn(family, 'saddr', 'peers-3F00AA'), verdict('accept')],
            comment: 'NetworkPolicy shop/web',
          },
          { exprs: [...addressIn(family, 'saddr', 'nets-77'), verdict('accept')] },
          { exprs: [verdict('drop')] },
        ],
      },
    ],
  );
}

const RATE = { perSecond: 5, burst: 20 };

/** One rule for each form of each builder of match.ts. */
function everyMatch(family: Family): Table {
  const { peers, nets } = addresses[family];
  const address = addressType(family);
  const network = (base: string, prefix: number) => ({ family, base: base as Address, prefix });
  const wide = family === 'ip' ? network('10.1.0.0', 17) : network('fd00::', 61);
  const one = family === 'ip' ? network('10.1.2.3', 32) : network('fd00::1', 128);
  const matches: Expr[][] = [
    ctStateAny(6),
    ctStateAny(8),
    addressIn(family, 'saddr', 'peers'),
    addressIn(family, 'daddr', 'peers', true),
    addressIn(family, 'daddr', 'nets'),
    addressInNetwork(wide, 'saddr'),
    addressInNetwork(wide, 'daddr', true),
    addressInNetwork(one, 'saddr'),
    addressInNetwork(one, 'daddr', true),
    protocolIs(family, 'tcp'),
    protocolIs(family, 'udp'),
    protocolIs(family, 'sctp'),
    protocolIs(family, family === 'ip' ? 'icmp' : 'icmpv6'),
    [...protocolIs(family, 'tcp'), ...destinationPort(80, 80)],
    [...protocolIs(family, 'udp'), ...destinationPort(1024, 65535)],
    [...destinationPort(80, 80), ...protocolIs(family, 'tcp')],
    addressProtocolPortIn(family, 'daddr', 'triples'),
    interfaceGroupIs('iifgroup', 29548),
    interfaceGroupIs('oifgroup', 1),
    interfaceKindIs('veth'),
    interfaceIs('iif', 1, true),
    interfaceIn('iif', 'links'),
    interfaceIn('oif', 'links', true),
    packetTypeIs('broadcast'),
    packetTypeIs('host'),
    noRouteBack(),
    [
      { kind: 'fib', result: 'oif', flags: ['daddr'], dreg: 0 },
      { kind: 'cmp', sreg: 0, op: 'neq', data: '01000000' },
    ],
    [
      { kind: 'fib', result: 'exists', flags: ['daddr'], dreg: 0 },
      { kind: 'cmp', sreg: 0, op: 'eq', data: '01000000' },
    ],
    ...(Object.keys(ADDRESS_TYPE) as (keyof typeof ADDRESS_TYPE)[]).map(type =>
      addressTypeIs('daddr', type, type === 'unicast'),
    ),
    addressPairIn(family, 'pairs'),
    hopsLeft(family, 'neq', 255),
    hopsLeft(family, 'lt', 2),
    // In ip, nft asks for the protocol another way than we do, and lists the two alike.
    ...(family === 'ip6'
      ? [neighbourDiscovery(), icmpTypeIs(family, 137), icmpTypeIs(family, 137, true), isFragment()]
      : []),
  ];
  const verdicts = [
    verdict('accept'),
    verdict('drop'),
    verdict('return'),
    verdict('jump', 'other'),
    verdict('goto', 'other'),
  ];
  const rules: NftRule[] = [
    ...matches.map(
      (exprs, i): NftRule => ({ exprs: [...exprs, verdicts[i % verdicts.length]!], comment: `rule ${i}` }),
    ),
    { exprs: addressVmap(family, 'saddr', 'pods') },
    { exprs: protocolPortVmap(family, 'ports') },
    { exprs: [{ kind: 'counter' }, verdict('drop')] },
    {
      exprs: [loadSource(family), update('sources', { over: RATE }), verdict('drop')],
      comment: 'of one',
    },
    { exprs: [limitOver(RATE), verdict('drop')], comment: 'of all' },
    { exprs: [{ kind: 'limit', ...RATE, over: false }, verdict('accept')] },
    { exprs: [{ kind: 'counter' }, logTo({ group: 60, prefix: 'denied: ', snaplen: 128 }), verdict('drop')] },
    { exprs: redirectByPort(family, 'host-ports'), comment: 'to pods' },
    { exprs: [...addressPairIn(family, 'pairs'), masquerade()] },
    { exprs: [masquerade()] },
  ];
  return table(
    [
      nftSet(
        'peers',
        [address],
        peers.map(peer => [peer, MEMBER]),
      ),
      nftSet(
        'pods',
        [address],
        [[peers[0], { verdict: { kind: 'jump', chain: 'other' }, comment: 'shop/web' }]],
      ),
      nftSet('ports', ['inet_proto', 'inet_service'], [['tcp . 80', { verdict: { kind: 'return' } }]]),
      nftSet(
        'triples',
        [address, 'inet_proto', 'inet_service'],
        [[`${peers[0]} . tcp . 443`, { comment: 'api' }]],
      ),
      {
        ...nftSet(
          'nets',
          [address],
          nets.map(net => [net, MEMBER]),
        ),
        interval: true,
      },
      nftSet(
        'links',
        ['iface_index'],
        [
          ['1', MEMBER],
          ['70000', { comment: 'gone' }],
        ],
      ),
      nftSet('links-of', ['iface_index', address], [[`70000 . ${peers[0]}`, MEMBER]]),
      {
        ...nftSet('owners', [address], [[peers[0], { data: '70000' }]]),
        data: ['iface_index'],
      },
      { ...nftSet('sources', [address], []), dynamic: { size: 64, timeoutMs: 10_000 } },
      nftSet('pairs', [address, address], [[`${peers[0]} . ${peers[0]}`, MEMBER]]),
      {
        ...nftSet(
          'host-ports',
          ['inet_proto', 'inet_service'],
          [
            ['tcp . 80', { data: `${peers[0]} . 8080`, comment: 'shop/web' }],
            ['udp . 53', { data: `${peers[1]} . 53` }],
          ],
        ),
        data: [address, 'inet_service'],
      },
    ],
    [
      { name: 'other', rules: [] },
      natChain('led', 'prerouting', -99),
      natChain('own-led', 'output', -99),
      natChain('leaving', 'postrouting', 100),
      { name: 'raw', hook: { hook: 'prerouting', priority: -300, policy: 'accept' }, rules: [] },
      { name: 'every', rules },
    ],
  );
}

function table(sets: readonly NftSet[], chains: readonly Chain[]): Table {
  return {
    sets: new Map(sets.map(set => [set.name, set])),
    chains: new Map(chains.map(chain => [chain.name, chain])),
  };
}

function natChain(name: string, hook: BaseHook['hook'], priority: number): Chain {
  return { name, hook: { type: 'nat', hook, priority, policy: 'accept' }, rules: [] };
}

function nftSet(name: string, key: NftSet['key'], elements: Entries, comment?: string): NftSet {
  const verdicts = elements.some(([, { verdict }]) => verdict !== undefined);
  return { name, key, verdicts, interval: false, ...(comment && { comment }), elements: new Map(elements) };
}

const FOREIGN_RULES = 8;
const FOREIGN = `
table ip sluice {
  set timed { type ipv4_addr; flags timeout; elements = { 10.0.0.1 timeout 1h } }
  set learned { type ipv4_addr; flags dynamic; size 10; }
  set nets-ports { type ipv4_addr . inet_service; flags interval; elements = { 10.0.0.0/8 . 80-90 } }
  map marks { type ipv4_addr : mark; elements = { 10.0.0.1 : 0x5 } }
  map wild { type ipv4_addr : verdict; elements = { 10.0.0.1 : accept, * : drop } }
  set ports { type inet_service; flags interval; elements = { 80, 90-99 comment "nineties" } }
  chain foreign {
    log prefix "x"
    limit rate 1/minute accept
    limit rate 10 mbytes/second accept
    meta skuid 5 accept
    ct mark 7 drop
    reject
    fib daddr . mark type local accept
    meta mark set ip saddr map @marks
  }
  chain anonymous { tcp dport { 22, 443 } accept; tcp dport vmap { 80 : accept }; ip saddr 10.0.0.1 jump { accept; }; }
  chain nat { type nat hook prerouting priority dstnat; dnat to 10.0.0.9; }
}
`;
