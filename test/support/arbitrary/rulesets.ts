/**
 * Valid rulesets that are small, dense and connected: chains jump, elements jump, sets are shared. Two of them
 * have most names in common, but seldom the same behind a name: a set may have another key, a chain may have a
 * hook that had none.
 */

import fc from 'fast-check';
import { byName } from '../../../src/lib/text/byname.ts';
import { type Family, parseCidr } from '../../../src/model/address.ts';
import * as match from '../../../src/nft/match.ts';
import * as way from '../../../src/nft/matchinterface.ts';
import {
  type BaseHook,
  type Chain,
  type ElementKey,
  type ElementValue,
  type Expr,
  type FieldType,
  MEMBER,
  mapTables,
  type NftRule,
  type NftSet,
  type NftVerdict,
  type Ruleset,
  type SetSpec,
  type Table,
} from '../../../src/nft/ruleset.ts';

export function rulesetArbitrary(): fc.Arbitrary<Ruleset> {
  return fc
    .tuple(fc.option(table('ip'), { freq: 9 }), fc.option(table('ip6'), { freq: 2 }))
    .map(([ip, ip6]) => ({
      tables: new Map([...(ip ? [['ip', ip] as const] : []), ...(ip6 ? [['ip6', ip6] as const] : [])]),
    }));
}

/** Some in a row: each is another, or the one before with a little changed and the rest the same objects. */
export function rulesetsArbitrary(minLength = 2): fc.Arbitrary<Ruleset[]> {
  const step = fc.tuple(rulesetArbitrary(), fc.boolean(), fc.infiniteStream(change));
  return fc.array(step, { minLength, maxLength: 3 }).map(steps => {
    const rulesets: Ruleset[] = [];
    for (const [another, anew, changes] of steps) {
      const before = rulesets.at(-1);
      rulesets.push(anew || before === undefined ? another : varied(before, changes));
    }
    return rulesets;
  });
}

type Change = 'none' | 'fewer' | 'turned';
const change = fc.constantFrom<Change>('none', 'none', 'fewer', 'turned');

function varied(ruleset: Ruleset, changes: Iterator<Change>): Ruleset {
  const next = () => changes.next().value as Change;
  return mapTables(ruleset, ({ sets, chains }) => ({
    sets: byName(Array.from(sets.values(), set => variedSet(set, next()))),
    chains: byName(Array.from(chains.values(), chain => variedChain(chain, next()))),
  }));
}

/** The verdict of an element may become that of every second element of the set. */
function variedSet(set: NftSet, change: Change): NftSet {
  const [keys, values] = [[...set.elements.keys()], [...set.elements.values()]];
  if (change === 'none') return set;
  if (change === 'fewer') return { ...set, elements: new Map([...set.elements].slice(1)) };
  return { ...set, elements: new Map(keys.map((key, i) => [key, values.at(i - 1)!])) };
}

function variedChain(chain: Chain, change: Change): Chain {
  if (change === 'none') return chain;
  return { ...chain, rules: change === 'fewer' ? chain.rules.slice(1) : chain.rules.toReversed() };
}

const CHAIN_NAMES = ['a', 'b', 'c', 'd', 'in-K3Q7-shop/web', 'forward', 'input'];
const SET_NAMES = ['peers', 'ports', 'pods', 'nets', 's'];

/** Chains lead only to chains behind them, so that none leads in a circle. */
function table(family: Family): fc.Arbitrary<Table> {
  return fc
    .tuple(fc.shuffledSubarray(CHAIN_NAMES), rankedSpecs(family))
    .chain(([chains, specs]) =>
      fc.tuple(
        fc.tuple(...specs.map(spec => set(spec, chains.slice(spec.rank)))),
        fc.tuple(...chains.map((name, index) => chain(family, name, index, chains.slice(index + 1), specs))),
      ),
    )
    .chain(([sets, chains]) =>
      fc.option(translation(family), { freq: 2 }).map(extra => ({
        sets: [...sets, ...(extra?.sets ?? [])],
        chains: [...chains, ...(extra?.chains ?? [])],
      })),
    )
    .map(({ sets, chains }) => unreferencedBases({ sets: byName(sets), chains: byName(chains) }));
}

interface Translation {
  readonly sets: readonly NftSet[];
  readonly chains: readonly Chain[];
}

/** Rules of translation hooks only: ports that a map to data redirects, and masquerading. */
function translation(family: Family): fc.Arbitrary<Translation> {
  const address = match.addressType(family);
  const map: SetSpec = {
    name: 'host-ports',
    key: ['inet_proto', 'inet_service'],
    verdicts: false,
    data: [address, 'inet_service'],
    interval: false,
  };
  const pairs: SetSpec = { name: 'pairs', key: [address, address], verdicts: false, interval: false };
  const data = fc
    .tuple(fc.nat(7), fc.nat(7))
    .map(([host, port]) => `${field(address, host)} . ${field('inet_service', port)}`);
  const entry = fc.tuple(data, comment).map(([data, comment]): ElementValue => ({ data, ...comment }));
  const led = fc.tuple(few, fc.array(entry, { minLength: 1, maxLength: 3 })).map(([indexes, values]) => ({
    ...map,
    elements: new Map(indexes.map((index, i) => [elementKey(map, index), values[i % values.length]!])),
  }));
  const redirect = {
    exprs: [...match.addressTypeIs('daddr', 'local'), ...match.redirectByPort(family, map.name)],
  };
  const leaving: NftRule[] = [
    { exprs: [...match.addressPairIn(family, pairs.name), match.masquerade()] },
    { exprs: [...way.interfaceGroupIs('oifgroup', 7), match.verdict('return')] },
    { exprs: [match.masquerade()], comment: 'the rest' },
  ];
  const source = [...way.interfaceGroupIs('iifgroup', 7), ...way.noRouteBack(), match.verdict('drop')];
  const some = fc.subarray(leaving);
  return fc.tuple(led, fc.constantFrom(-99, 5), some).map(([set, priority, rules]) => ({
    sets: [set, { ...pairs, elements: new Map([[elementKey(pairs, 1), MEMBER]]) }],
    chains: [
      {
        name: 'source',
        hook: { hook: 'prerouting', priority: -300, policy: 'accept' },
        rules: [{ exprs: source }],
      },
      natChain('led', 'prerouting', priority, [redirect]),
      natChain('own-led', 'output', priority, [redirect]),
      natChain('leaving', 'postrouting', 100, rules),
    ],
  }));
}

function natChain(name: string, hook: BaseHook['hook'], priority: number, rules: readonly NftRule[]): Chain {
  return { name, hook: { type: 'nat', hook, priority, policy: 'accept' }, rules };
}

/** Nothing can jump to a base chain: only a chain that nothing leads to keeps its hook. */
function unreferencedBases({ sets, chains }: Table): Table {
  const verdicts = [
    ...[...sets.values()].flatMap(({ elements }) => Array.from(elements.values(), ({ verdict }) => verdict)),
    ...[...chains.values()].flatMap(({ rules }) =>
      rules.flatMap(({ exprs }) => exprs.map(expr => (expr.kind === 'verdict' ? expr.verdict : undefined))),
    ),
  ];
  const targets = new Set(verdicts.map(verdict => verdict && 'chain' in verdict && verdict.chain));
  const strip = (chain: Chain): Chain =>
    targets.has(chain.name) ? { name: chain.name, rules: chain.rules } : chain;
  return { sets, chains: byName([...chains.values()].map(strip)) };
}

/** Chains before `rank` may look the set up, and its elements lead to chains from `rank` on. */
interface RankedSpec extends SetSpec {
  readonly rank: number;
}

function rankedSpecs(family: Family): fc.Arbitrary<RankedSpec[]> {
  const address = match.addressType(family);
  const hashKeys: FieldType[][] = [
    [address],
    ['inet_proto', 'inet_service'],
    [address, 'inet_proto', 'inet_service'],
  ];
  const kind = fc.oneof(
    { arbitrary: fc.record({ key: fc.constantFrom(...hashKeys), interval: fc.constant(false) }), weight: 3 },
    {
      arbitrary: fc.record({
        key: fc.constantFrom([address], ['inet_service' as const]),
        interval: fc.constant(true),
      }),
      weight: 1,
    },
  );
  const spec = fc
    .tuple(
      fc.constantFrom(...SET_NAMES),
      kind,
      fc.boolean(),
      comment,
      fc.integer({ min: 1, max: CHAIN_NAMES.length }),
    )
    .map(
      ([name, kind, verdicts, comment, rank]): RankedSpec => ({ name, ...kind, verdicts, ...comment, rank }),
    );
  return fc.uniqueArray(spec, { selector: ({ name }) => name, maxLength: 5 });
}

const comment: fc.Arbitrary<{ comment?: string }> = fc.oneof(
  { arbitrary: fc.constant({}), weight: 3 },
  { arbitrary: fc.constantFrom('shop/web ingress[0]', 'shop/db').map(comment => ({ comment })), weight: 1 },
);

function set({ rank: _, ...spec }: RankedSpec, targets: readonly string[]): fc.Arbitrary<NftSet> {
  const value: fc.Arbitrary<ElementValue> = fc
    .tuple(comment, verdict(targets))
    .map(([comment, verdict]) =>
      spec.verdicts ? { verdict, ...comment } : 'comment' in comment ? comment : MEMBER,
    );
  return fc
    .tuple(
      fc.oneof({ arbitrary: few, weight: 12 }, { arbitrary: many, weight: 1 }),
      fc.array(value, { minLength: 1, maxLength: 3 }),
    )
    .map(([indexes, values]) => ({
      ...spec,
      elements: new Map(indexes.map((index, i) => [elementKey(spec, index), values[i % values.length]!])),
    }));
}

const few = fc.oneof(fc.constant([]), fc.subarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 3 }));
/** Around the sizes at which a set runs out of room. */
const many = fc
  .constantFrom(128, 129, 256, 257, 600)
  .map(count => Array.from({ length: count }, (_, i) => i));

/** The `index`th key of a kind of set; of an interval set, a network, a range or a single one. */
export function elementKey({ key, interval }: SetSpec, index: number): ElementKey {
  return interval ? intervalKey(key[0]!, index) : key.map(type => field(type, index)).join(' . ');
}

function field(type: FieldType, index: number): string {
  switch (type) {
    case 'ipv4_addr':
      return `10.0.${index >> 8}.${index & 255}`;
    case 'ipv6_addr':
      return `fd00::${(index + 1).toString(16)}`;
    case 'ether_addr':
      return `0a:00:00:00:${(index >> 8).toString(16).padStart(2, '0')}:${(index & 255).toString(16).padStart(2, '0')}`;
    case 'inet_proto':
      return ['tcp', 'udp', 'sctp'][index % 3]!;
    case 'inet_service':
    case 'iface_index':
      return String(index + 1);
  }
}

function intervalKey(type: FieldType, index: number): ElementKey {
  const high = (index >> 8) + 1;
  const low = index & 255;
  if (type === 'inet_service')
    return index % 3 === 0 ? `${10 * index + 1}` : `${10 * index + 1}-${10 * index + 5}`;
  const base = (host: number) =>
    type === 'ipv4_addr' ? `${high}.${low}.0.${host}` : `fd${high}:${(low + 1).toString(16)}::${host || ''}`;
  const [all, one] = type === 'ipv4_addr' ? [24, 32] : [64, 128];
  return [`${base(0)}/${all}`, `${base(1)}-${base(6)}`, `${base(1)}/${one}`][index % 3]!;
}

function verdict(targets: readonly string[]): fc.Arbitrary<NftVerdict> {
  const end = fc.constantFrom<NftVerdict>({ kind: 'accept' }, { kind: 'drop' }, { kind: 'return' });
  if (targets.length === 0) return end;
  const lead = fc.record({ kind: fc.constantFrom('jump', 'goto'), chain: fc.constantFrom(...targets) });
  return fc.oneof({ arbitrary: end, weight: 1 }, { arbitrary: lead as fc.Arbitrary<NftVerdict>, weight: 2 });
}

function chain(
  family: Family,
  name: string,
  index: number,
  targets: readonly string[],
  specs: readonly RankedSpec[],
): fc.Arbitrary<Chain> {
  const sets = specs.filter(({ rank }) => index < rank);
  return fc
    .tuple(fc.option(hook, { freq: 2 }), fc.array(rule(family, targets, sets), { maxLength: 4 }))
    .map(([hook, rules]) => ({ name, ...(hook && { hook }), rules }));
}

const hook: fc.Arbitrary<BaseHook> = fc.record({
  hook: fc.constantFrom('forward', 'input', 'output'),
  priority: fc.constantFrom(-10, 0, 5),
  policy: fc.constantFrom('accept', 'drop'),
});

function rule(family: Family, targets: readonly string[], specs: readonly SetSpec[]): fc.Arbitrary<NftRule> {
  const member = specs.filter(({ verdicts }) => !verdicts).map(spec => lookup(family, spec));
  const maps = specs.filter(({ verdicts }) => verdicts).map(spec => lookup(family, spec));
  const end = verdict(targets).map((verdict): Expr[] => [{ kind: 'verdict', verdict }]);
  const log = match.logTo({ group: 7, prefix: 'sluice: ', snaplen: 64 });
  const counter = fc.oneof(nothing, fc.constantFrom<Expr[]>([{ kind: 'counter' }], [log]));
  // One protocol at most: two of them never match, and nft leaves out what says the same twice. ICMP has no ports.
  const ends = fc.tuple(fc.oneof(nothing, portMatch(family), icmpMatch(family)), counter, end);
  const lookups = maps.map(map => fc.tuple(fc.oneof(nothing, portMatch(family)), counter, map));
  return fc
    .tuple(fc.oneof(nothing, networkMatch(family), ...member), fc.oneof(ends, ...lookups), comment)
    .map(([address, rest, comment]) => ({ exprs: [...address, ...rest.flat()], ...comment }))
    .filter(({ exprs }) => exprs.length > 0);
}

const nothing = fc.constant<Expr[]>([]);

/** `ip saddr @set`, `th dport vmap @map`: the key's fields, side by side in registers, and the look-up. */
function lookup(family: Family, { name, key, verdicts }: SetSpec): fc.Arbitrary<Expr[]> {
  const address = fc.constantFrom<match.AddressField>('saddr', 'daddr');
  const invert = verdicts ? fc.constant(false) : fc.boolean();
  return fc.tuple(address, invert).map(([field, invert]) => {
    let register = 0;
    const loads = key.map((type): Expr => {
      const dreg = register;
      register += type === 'ipv6_addr' ? 4 : 1;
      return load(family, type, field, dreg);
    });
    return [...loads, { kind: 'lookup', set: name, sreg: 0, vmap: verdicts, invert }];
  });
}

function load(family: Family, type: FieldType, field: match.AddressField, dreg: number): Expr {
  switch (type) {
    case 'inet_proto':
      return { kind: 'meta', key: 'l4proto', dreg };
    case 'inet_service':
      return { kind: 'payload', base: 'transport', offset: 2, length: 2, dreg };
    default:
      return { ...(match.addressIn(family, field, '')[0] as Expr & { kind: 'payload' }), dreg };
  }
}

const NETWORKS: Readonly<Record<Family, readonly string[]>> = {
  ip: ['10.0.0.0/8', '10.0.0.0/30', '10.0.0.1/32', '10.0.0.4/31', '0.0.0.0/0'],
  ip6: ['fd00::/16', 'fd00::/126', 'fd00::1/128', 'fd00::4/127', '::/0'],
};

function networkMatch(family: Family): fc.Arbitrary<Expr[]> {
  return fc
    .tuple(
      fc.constantFrom(...NETWORKS[family]),
      fc.constantFrom<match.AddressField>('saddr', 'daddr'),
      fc.boolean(),
    )
    .map(([cidr, field, invert]) => match.addressInNetwork(parseCidr(cidr)!, field, invert));
}

function portMatch(family: Family): fc.Arbitrary<Expr[]> {
  const port = fc.constantFrom<[number, number]>([1, 1], [3, 3], [2, 6], [1, 65535]);
  const protocolPort = fc
    .tuple(fc.constantFrom<match.L4Protocol>('tcp', 'udp', 'sctp'), port)
    .map(([protocol, [first, last]]) => [
      ...match.protocolIs(family, protocol),
      ...match.destinationPort(first, last),
    ]);
  const state = fc.constantFrom(match.CT_STATE.new, match.CT_STATE.established | match.CT_STATE.related);
  const interfaces = fc.constantFrom(
    way.notFromLoopback(),
    way.isForwarded(),
    way.interfaceGroupIs('oifgroup', 0),
    way.interfaceGroupIs('iifgroup', 0),
    way.interfaceKindIs('veth'),
    way.interfaceIs('iif', 2, true),
    way.packetTypeIs('host'),
    match.addressTypeIs('daddr', 'unicast'),
    match.addressTypeIs('saddr', 'local', true),
    match.hopsLeft(family, 'gt', 63),
  );
  const tcp = fc.constant(match.protocolIs(family, 'tcp'));
  return fc.oneof(protocolPort, state.map(match.ctStateAny), tcp, interfaces);
}

function icmpMatch(family: Family): fc.Arbitrary<Expr[]> {
  return family === 'ip'
    ? fc.constantFrom(match.protocolIs(family, 'icmp'), match.icmpTypeIs(family, 8))
    : fc.constantFrom(
        match.protocolIs(family, 'icmpv6'),
        match.icmpTypeIs(family, 128),
        match.neighbourDiscovery(),
      );
}
