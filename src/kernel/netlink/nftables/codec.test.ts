import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../test/support/seed.ts';
import { addressFromBytes } from '../../../model/address.ts';
import { macText } from '../../../model/mac.ts';
import type { Op } from '../../../nft/plan/op.ts';
import {
  type BaseHook,
  type Chain,
  type ElementKey,
  type ElementValue,
  type Expr,
  type Family,
  type FibFlag,
  type FieldType,
  MEMBER,
  type MetaKey,
  type NftRule,
  type NftSet,
  type NftVerdict,
  type Ruleset,
  type SetSpec,
} from '../../../nft/ruleset.ts';
import { eachAttribute } from '../wire/attributes.ts';
import { NLMSG } from '../wire/constants.ts';
import { type Message, readMessages } from '../wire/messages.ts';
import { Batch } from './batch.ts';
import { ELEMENTS, MSG } from './constants.ts';
import { RulesetReader } from './decode.ts';
import { type Additions, BatchEncoder } from './encode.ts';

const FLAGS = 6;

function encoded(ops: readonly Op[], batch = new Batch(), additions: Additions = 'any'): Message[] {
  const encoder = new BatchEncoder(batch, {
    ops,
    firstSequence: 0xfffffff0, // wraps
    expected: 7,
    ack: 'end',
    tableFlags: FLAGS,
    tables: [],
    echo: false,
    additions,
  });
  while (encoder.encode());
  return [
    ...readMessages(
      Buffer.copyBytesFrom(batch.written.buffer, 0, batch.written.length) as Buffer,
      batch.written.length,
    ),
  ];
}

function decoded(messages: readonly Message[]): Ruleset {
  const reader = new RulesetReader();
  for (const message of messages) reader.read(message);
  return reader.ruleset();
}

/** Adds all of a ruleset, referents first. */
function additions({ tables }: Ruleset): Op[] {
  return [...tables].flatMap(([family, { sets, chains }]): Op[] => [
    { op: 'addTable', family },
    ...[...chains.values()].map(
      ({ name, hook }): Op => ({
        op: 'addChain',
        family,
        chain: name,
        ...(hook && { hook }),
      }),
    ),
    ...[...sets.values()].flatMap((set): Op[] => [
      { op: 'addSet', family, set, size: set.size! },
      { op: 'addElements', family, set, elements: [...set.elements] },
    ]),
    ...[...chains.values()].flatMap(({ name, rules }) =>
      rules.map((rule): Op => ({ op: 'addRule', family, chain: name, rule })),
    ),
  ]);
}

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9/._-]{0,60}$/);
const comment = fc
  .oneof(fc.stringMatching(/^[ -~]{1,120}$/), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }))
  .filter(text => Buffer.byteLength(text) <= 120 && !text.includes('\0'));
const maybeComment = fc.option(comment, { nil: undefined });
const register = fc.nat(15);
const hex = fc
  .integer({ min: 1, max: 16 })
  .chain(bytes)
  .map(value => Buffer.from(value).toString('hex'));

const verdict: fc.Arbitrary<NftVerdict> = fc.oneof(
  fc.record({ kind: fc.constantFrom('accept' as const, 'drop' as const, 'return' as const) }),
  fc.record({ kind: fc.constantFrom('jump' as const, 'goto' as const), chain: name }),
);

const expr: fc.Arbitrary<Expr> = fc.oneof(
  fc.record({
    kind: fc.constant('meta' as const),
    key: fc.constantFrom<MetaKey[]>(
      'l4proto',
      'nfproto',
      'iif',
      'oif',
      'iifgroup',
      'oifgroup',
      'iifkind',
      'pkttype',
    ),
    dreg: register,
  }),
  fc.record({ kind: fc.constant('ct' as const), key: fc.constant('state' as const), dreg: register }),
  fc.record({
    kind: fc.constant('payload' as const),
    base: fc.constantFrom('network' as const, 'transport' as const),
    offset: fc.nat(255),
    length: fc.integer({ min: 1, max: 16 }),
    dreg: register,
  }),
  fc.record({ kind: fc.constant('bitwise' as const), sreg: register, dreg: register, mask: hex, xor: hex }),
  fc.record({
    kind: fc.constant('cmp' as const),
    sreg: register,
    op: fc.constantFrom(
      'eq' as const,
      'neq' as const,
      'lt' as const,
      'lte' as const,
      'gt' as const,
      'gte' as const,
    ),
    data: hex,
  }),
  fc.record({
    kind: fc.constant('lookup' as const),
    set: name,
    sreg: register,
    vmap: fc.boolean(),
    invert: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('lookup' as const),
    set: name,
    sreg: register,
    vmap: fc.constant(false),
    invert: fc.constant(false),
    dreg: register,
  }),
  fc.record({ kind: fc.constant('exthdr' as const), type: fc.nat(255), dreg: register }),
  fc.record({
    kind: fc.constant('fib' as const),
    result: fc.constantFrom('oif' as const, 'exists' as const, 'type' as const),
    flags: fc.subarray<FibFlag>(['saddr', 'daddr', 'iif', 'oif']),
    dreg: register,
  }),
  fc.record({
    kind: fc.constant('nat' as const),
    type: fc.constant('dnat' as const),
    family: fc.constantFrom<Family[]>('ip', 'ip6'),
    address: register,
    port: register,
  }),
  fc.constant({ kind: 'masq' as const }),
  fc.constant({ kind: 'counter' as const }),
  fc.constant({ kind: 'last' as const }),
  fc.record({
    kind: fc.constant('log' as const),
    group: fc.nat(65535),
    prefix: fc.stringMatching(/^[ -~]{1,100}$/),
    snaplen: fc.nat(0xffff),
  }),
  fc.record({
    kind: fc.constant('limit' as const),
    perSecond: fc.integer({ min: 1, max: 1_000_000 }),
    burst: fc.nat(10_000),
    over: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('dynset' as const),
    op: fc.constant('update' as const),
    set: name,
    sreg: register,
    over: fc.record({ perSecond: fc.integer({ min: 1, max: 1_000_000 }), burst: fc.nat(10_000) }),
  }),
  fc.record({ kind: fc.constant('verdict' as const), verdict }),
);

const withComment = <T extends object>(value: T, text: string | undefined): T =>
  text === undefined ? value : { ...value, comment: text };

const rule: fc.Arbitrary<NftRule> = fc
  .tuple(fc.array(expr, { maxLength: 6 }), maybeComment)
  .map(([exprs, text]) => withComment({ exprs }, text));

const plainHook: fc.Arbitrary<BaseHook> = fc.record({
  hook: fc.constantFrom(
    'prerouting' as const,
    'input' as const,
    'forward' as const,
    'output' as const,
    'postrouting' as const,
  ),
  priority: fc.integer({ min: -400, max: 400 }),
  policy: fc.constantFrom('accept' as const, 'drop' as const),
});

const hook: fc.Arbitrary<BaseHook> = fc.oneof(
  plainHook,
  plainHook.map(hook => ({ ...hook, type: 'nat' as const })),
);

const chain: fc.Arbitrary<Chain> = fc
  .tuple(name, fc.option(hook, { nil: undefined }), fc.array(rule, { maxLength: 4 }))
  .map(([name, hook, rules]) => (hook === undefined ? { name, rules } : { name, hook, rules }));

const FIELDS: Record<FieldType, fc.Arbitrary<string>> = {
  ipv4_addr: bytes(4).map(value => addressFromBytes(value)),
  ipv6_addr: fc
    .oneof(
      bytes(16),
      fc
        .array(fc.constantFrom(0, 0, 0, 1, 255), { minLength: 16, maxLength: 16 })
        .map(values => Uint8Array.from(values)),
    )
    .map(value => addressFromBytes(value)),
  ether_addr: bytes(6).map(value => macText(value)),
  inet_proto: fc.constantFrom('tcp', 'udp', 'sctp'),
  inet_service: fc.nat(65535).map(String),
  iface_index: fc.nat(0x7fffffff).map(String),
};

const field = fc.constantFrom(...(Object.keys(FIELDS) as FieldType[]));

function elementKey(key: readonly FieldType[]): fc.Arbitrary<ElementKey> {
  return fc.tuple(...key.map(type => FIELDS[type])).map(fields => fields.join(' . '));
}

function elementValue({ verdicts, data }: Pick<SetSpec, 'verdicts' | 'data'>): fc.Arbitrary<ElementValue> {
  const value: fc.Arbitrary<ElementValue> = verdicts
    ? verdict.map(verdict => ({ verdict }))
    : data === undefined
      ? fc.constant(MEMBER)
      : elementKey(data).map(data => ({ data }));
  return fc.tuple(value, maybeComment).map(([value, text]) => withComment(value, text));
}

const spec: fc.Arbitrary<SetSpec & { size: number }> = fc
  .tuple(
    fc.record({
      name,
      key: fc.array(field, { minLength: 1, maxLength: 3 }),
      leadsTo: fc.oneof(
        fc.record({ verdicts: fc.boolean() }),
        fc.record({
          verdicts: fc.constant(false),
          data: fc.array(field, { minLength: 1, maxLength: 3 }),
        }),
      ),
      size: fc.integer({ min: 1, max: 1 << 20 }),
    }),
    maybeComment,
  )
  .map(([{ leadsTo, ...spec }, text]) => withComment({ ...spec, ...leadsTo, interval: false }, text));

const set: fc.Arbitrary<NftSet> = spec.chain(spec =>
  fc
    .array(fc.tuple(elementKey(spec.key), elementValue(spec)), { maxLength: 12 })
    .map(entries => ({ ...spec, elements: new Map(entries) })),
);

/** Disjoint ranges of ports that do not touch: cut points, of which every second range is taken. */
const portRanges: fc.Arbitrary<NftSet> = fc
  .tuple(
    name,
    fc.uniqueArray(fc.nat(65535), { maxLength: 12 }),
    fc.boolean(),
    elementValue({ verdicts: true }),
  )
  .map(([name, points, verdicts, value]) => {
    const sorted = points.toSorted((a, b) => a - b);
    const elements = new Map<ElementKey, ElementValue>();
    for (let i = 0; i + 1 < sorted.length; i += 2)
      if (i === 0 || sorted[i]! > sorted[i - 1]! + 1)
        elements.set(`${sorted[i]}-${sorted[i + 1]}`, verdicts ? value : MEMBER);
    return { name, key: ['inet_service'] as const, verdicts, interval: true, size: 64, elements };
  });

const byName = <T extends { name: string }>(values: readonly T[]) =>
  new Map(values.map(value => [value.name, value]));

const table = fc
  .tuple(fc.array(fc.oneof(set, portRanges), { maxLength: 5 }), fc.array(chain, { maxLength: 5 }))
  .map(([sets, chains]) => ({ sets: byName(sets), chains: byName(chains) }));

const ruleset: fc.Arbitrary<Ruleset> = fc
  .record({ ip: fc.option(table, { nil: undefined }), ip6: fc.option(table, { nil: undefined }) })
  .map(({ ip, ip6 }) => ({
    tables: new Map([...(ip ? [['ip', ip] as const] : []), ...(ip6 ? [['ip6', ip6] as const] : [])]),
  }));

test('what was encoded decodes to the same ruleset', () => {
  let elements = 0;
  let rules = 0;
  fc.assert(
    fc.property(ruleset, fc.constantFrom<Additions>('any', 'new'), (ruleset, mode) => {
      for (const { sets, chains } of ruleset.tables.values()) {
        for (const set of sets.values()) elements += set.elements.size;
        for (const chain of chains.values()) rules += chain.rules.length;
      }
      expect(decoded(encoded(additions(ruleset), new Batch(), mode))).toEqual(ruleset);
    }),
    { numRuns: runs(300) },
  );
  expect(elements, 'elements that were compared').toBeGreaterThan(runs(1000));
  expect(rules, 'rules that were compared').toBeGreaterThan(runs(500));
});

/** As a dump reads it: the elements of one set after those of the other, and again where that is needed. */
function decodedWith(known: Ruleset, ruleset: Ruleset): Ruleset {
  const reader = new RulesetReader(known);
  const read = (ops: readonly Op[]) => {
    if (ops.length > 0) for (const message of encoded(ops, new Batch(), 'new')) reader.read(message);
  };
  const ops = additions(ruleset);
  read(ops.filter(({ op }) => op !== 'addElements'));
  for (const { family, name } of reader.sets()) {
    const elements = ops.filter(
      op => op.op === 'addElements' && op.family === family && op.set.name === name,
    );
    read(elements);
    if (reader.settle(family, name)) read(elements);
  }
  return reader.ruleset();
}

/** The ruleset with a part of its elements and rules; the other elements of a verdict map have another comment. */
function thinned({ tables }: Ruleset, keeps: (index: number) => boolean): Ruleset {
  const kept = <T>(values: Iterable<T>) => [...values].filter((_, index) => keeps(index));
  const thinnedTables = [...tables].map(([family, { sets, chains }]) => {
    const thinSets = [...sets.values()].map(set => ({
      ...set,
      elements: set.verdicts
        ? new Map([...set.elements].map(([key, value], at) => [key, keeps(at) ? value : renamed(value)]))
        : new Map(kept(set.elements)),
    }));
    const thinChains = [...chains.values()].map(chain => ({ ...chain, rules: kept(chain.rules) }));
    return [family, { sets: byName(thinSets), chains: byName(thinChains) }] as const;
  });
  return { tables: new Map(thinnedTables) };
}

const renamed = (value: ElementValue): ElementValue => ({
  ...value,
  comment: `not ${value.comment ?? ''}`.slice(0, 40),
});

test('what is known makes no difference to what is read, and is the same object where it is equal', () => {
  fc.assert(
    fc.property(ruleset, fc.array(fc.boolean(), { minLength: 1 }), (ruleset, pattern) => {
      const some = thinned(ruleset, index => pattern[index % pattern.length]!);
      for (const [known, now] of [
        [ruleset, some],
        [some, ruleset],
        [ruleset, ruleset],
      ] as const) {
        const read = decodedWith(known, now);
        expect(read).toEqual(now);
        if (known !== now) continue;
        for (const [family, { sets, chains }] of now.tables) {
          for (const [name, set] of sets) expect(read.tables.get(family)!.sets.get(name)).toBe(set);
          for (const [name, chain] of chains) expect(read.tables.get(family)!.chains.get(name)).toBe(chain);
        }
      }
    }),
    { numRuns: runs(100) },
  );
});

test('a batch buffer that was used before leaves nothing of it in the next batch', () => {
  const batch = new Batch();
  fc.assert(
    fc.property(ruleset, ruleset, (first, second) => {
      encoded(additions(first), batch);
      const again = encoded(additions(second), batch);
      const fresh = encoded(additions(second));
      expect(again[0]!.payload.bytes.equals(fresh[0]!.payload.bytes)).toBe(true);
    }),
    { numRuns: runs(100) },
  );
});

const PEERS: SetSpec = { name: 'peers', key: ['ipv4_addr'], verdicts: false, interval: false };
const PODS: SetSpec = { name: 'pods', key: ['ipv6_addr'], verdicts: true, interval: false };

test.each([
  [
    'plain members',
    PEERS,
    (i: number) => [`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, MEMBER] as const,
    100_000,
  ],
  [
    'elements as long as they can be',
    PODS,
    (i: number) =>
      [
        `fd00::${(i + 1).toString(16)}`,
        { verdict: { kind: 'goto', chain: 'c'.repeat(255) }, comment: 'x'.repeat(120) },
      ] as const,
    5000,
  ],
])('%s are spread over messages whose list stays below 64 KB, none lost', (_, set, element, count) => {
  const entries = Array.from({ length: count }, (_, i) => element(i));
  const ops: Op[] = [
    { op: 'addTable', family: 'ip' },
    { op: 'addSet', family: 'ip', set, size: count },
    { op: 'addElements', family: 'ip', set, elements: entries },
  ];
  const messages = encoded(ops);
  const lists = messages.filter(({ type }) => type === MSG.NEWSETELEM).map(listLength);
  expect(lists.length).toBeGreaterThan(20);
  expect(Math.max(...lists)).toBeLessThanOrEqual(0xffff);
  expect(decoded(messages).tables.get('ip')!.sets.get(set.name)!.elements).toEqual(new Map(entries));
});

function listLength({ attributes: { bytes, start, end } }: Message): number {
  let length = 0;
  eachAttribute(bytes, start, end, (type, from, to) => {
    if (type === ELEMENTS.ELEMENTS) length = to - from + 4;
  });
  return length;
}

test('intervals that touch are read as two, whichever was written first', () => {
  const set: SetSpec = { name: 'nets', key: ['ipv4_addr'], verdicts: false, interval: true };
  const keys = ['10.0.0.128/25', '10.0.0.0/25', '10.0.1.0-10.0.1.7'];
  const ops: Op[] = [
    { op: 'addTable', family: 'ip' },
    { op: 'addSet', family: 'ip', set, size: 9 },
    { op: 'addElements', family: 'ip', set, elements: keys.map(key => [key, MEMBER]) },
  ];
  const { elements } = decoded(encoded(ops)).tables.get('ip')!.sets.get('nets')!;
  expect([...elements.keys()]).toEqual(['10.0.0.0/25', '10.0.0.128/25', '10.0.1.0/29']);
});

test('a batch is BATCH_BEGIN with the generation, messages numbered in a row, BATCH_END', () => {
  const messages = encoded(
    Array.from({ length: 40 }, (_, i): Op => ({ op: 'addChain', family: 'ip', chain: `c${i}` })),
  );
  expect(messages.map(({ sequence }) => sequence)).toEqual(messages.map((_, i) => (0xfffffff0 + i) >>> 0));
  expect([messages[0]!.type, messages.at(-1)!.type]).toEqual([NLMSG.BATCH_BEGIN, NLMSG.BATCH_END]);
  const { bytes, start } = messages[0]!.attributes;
  expect(bytes.subarray(start, start + 8).toString('hex')).toBe('0800010000000007');
});

test.each<[string, Op]>([
  ['a name of more than 64 KB', { op: 'addChain', family: 'ip', chain: 'x'.repeat(70_000) }],
  [
    'a comment of more than 127 bytes',
    { op: 'addRule', family: 'ip', chain: 'c', rule: { exprs: [], comment: 'x'.repeat(128) } },
  ],
  [
    'an expression of somebody else',
    { op: 'addRule', family: 'ip', chain: 'c', rule: { exprs: [{ kind: 'unknown', name: 'log' }] } },
  ],
  ['a key that is not canonical', { op: 'delElements', family: 'ip', set: PEERS, keys: ['10.0.0'] }],
  ['a key of another family', { op: 'delElements', family: 'ip', set: PEERS, keys: ['fd00::1'] }],
  [
    'a key with a field too many',
    {
      op: 'delElements',
      family: 'ip',
      set: { ...PEERS, key: ['inet_proto', 'inet_service'] },
      keys: ['tcp . 80 . 90'],
    },
  ],
  [
    'a port above 65535',
    { op: 'delElements', family: 'ip', set: { ...PEERS, key: ['inet_service'] }, keys: ['65536'] },
  ],
  [
    'data with a field too many',
    {
      op: 'addElements',
      family: 'ip',
      set: { ...PEERS, data: ['inet_service'] },
      elements: [['10.0.0.1', { data: '80 . 90' }]],
    },
  ],
  [
    'data of a set that is no map',
    { op: 'addElements', family: 'ip', set: PEERS, elements: [['10.0.0.1', { data: '80' }]] },
  ],
  [
    'an interval of several fields',
    {
      op: 'delElements',
      family: 'ip',
      set: { ...PEERS, key: ['ipv4_addr', 'inet_proto'], interval: true },
      keys: ['10.0.0.0/8'],
    },
  ],
])('%s is refused before anything is sent', (_, op) => {
  expect(() => encoded([op])).toThrow(/./);
});
