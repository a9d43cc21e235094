import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../test/support/seed.ts';
import { addressFromBytes } from '../../../model/address.ts';
import { macText } from '../../../model/mac.ts';
import type { Op } from '../../../nft/plan/op.ts';
import {
  type ElementKey,
  type ElementValue,
  type FieldType,
  MEMBER,
  type SetSpec,
} from '../../../nft/ruleset.ts';
import { Batch } from './batch.ts';
import { BatchEncoder, type Draft } from './encode.ts';
import { PreparedBatches } from './prepared.ts';

const draft = (ops: readonly Op[], firstSequence = 1, expected = 7): Draft => ({
  ops,
  firstSequence,
  expected,
  ack: 'last',
  tableFlags: 0,
  tables: [],
  echo: false,
  additions: ops.every(({ op }) => op === 'addElements') ? 'new' : 'any',
});

const bytesOf = (batch: Batch) => batch.written.buffer.toString('hex', 0, batch.written.length);

function madeAnew(draft: Draft): string {
  const batch = new Batch();
  const encoder = new BatchEncoder(batch, draft);
  while (encoder.encode());
  return bytesOf(batch);
}

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const FIELDS: Record<FieldType, fc.Arbitrary<string>> = {
  ipv4_addr: bytes(4).map(addressFromBytes),
  ipv6_addr: fc
    .oneof(bytes(16), fc.constantFrom(new Uint8Array(16), new Uint8Array(16).fill(1, 15)))
    .map(addressFromBytes),
  ether_addr: bytes(6).map(value => macText(value)),
  inet_proto: fc.oneof(fc.constantFrom('tcp', 'udp', 'sctp'), fc.constant('41')),
  inet_service: fc.nat(65535).map(String),
  iface_index: fc.nat(0x7fffffff).map(String),
};

/** One change of a set, without its key. */
interface Shape {
  readonly op: 'addElements' | 'delElements';
  readonly family: 'ip' | 'ip6';
  readonly set: SetSpec;
}

const shape: fc.Arbitrary<Shape> = fc.record({
  op: fc.constantFrom('addElements', 'delElements'),
  family: fc.constantFrom('ip', 'ip6'),
  set: fc.record({
    name: fc.constantFrom('peers', 'ports', 'a-set-with-a-longer-name'),
    key: fc.array(fc.constantFrom(...(Object.keys(FIELDS) as FieldType[])), { minLength: 1, maxLength: 3 }),
    verdicts: fc.constant(false),
    interval: fc.constant(false),
  }),
});

const keyOf = ({ set }: Shape): fc.Arbitrary<ElementKey> =>
  fc.tuple(...set.key.map(type => FIELDS[type])).map(fields => fields.join(' . '));

const change = ({ op, family, set }: Shape, ...keys: ElementKey[]): Op =>
  op === 'addElements'
    ? { op, family, set, elements: keys.map(key => [key, MEMBER] as const) }
    : { op, family, set, keys };

/** Changes of the same sets, twice: `[first, second]`. */
const twoLike = fc
  .array(shape, { minLength: 1, maxLength: 4 })
  .chain(shapes =>
    fc
      .tuple(...shapes.map(shape => fc.tuple(keyOf(shape), keyOf(shape))))
      .map(keys =>
        [0, 1].map(turn =>
          shapes.map((shape, i) => change({ ...shape, set: { ...shape.set } }, keys[i]![turn]!)),
        ),
      ),
  );

test('a batch that is sent again is the batch that would be made anew, byte by byte', () => {
  const prepared = new PreparedBatches();
  fc.assert(
    fc.property(twoLike, fc.nat(0xffffffff), fc.nat(0xffffffff), ([first, second], sequence, generation) => {
      prepared.encode(draft(first!));
      const again = prepared.again(second!, sequence, generation);
      expect(bytesOf(again!)).toBe(madeAnew(draft(second!, sequence, generation)));
      expect(again!.stepOf((sequence + first!.length) >>> 0)).toBe(first!.length - 1);
    }),
    { numRuns: runs(300) },
  );
});

const PEERS: SetSpec = { name: 'peers', key: ['ipv4_addr'], verdicts: false, interval: false };
const add = (set: SetSpec, key: ElementKey, value: ElementValue = MEMBER): Op => ({
  op: 'addElements',
  family: 'ip',
  set,
  elements: [[key, value]],
});
const ADD = add(PEERS, '10.0.0.1');

test.each<[string, readonly Op[]]>([
  ['with a step more', [ADD, ADD]],
  ['of another set', [add({ ...PEERS, name: 'others' }, '10.0.0.2')]],
  ['of a set with other fields', [add({ ...PEERS, key: ['ipv4_addr', 'inet_service'] }, '10.0.0.2 . 80')]],
  ['of an interval set', [add({ ...PEERS, interval: true }, '10.0.0.0/8')]],
  ['of the other family', [{ ...ADD, family: 'ip6' } as Op]],
  ['that deletes', [change({ op: 'delElements', family: 'ip', set: PEERS }, '10.0.0.2')]],
  ['of two elements', [change({ op: 'addElements', family: 'ip', set: PEERS }, '10.0.0.2', '10.0.0.3')]],
  ['of no element', [change({ op: 'addElements', family: 'ip', set: PEERS })]],
  ['with a verdict', [add(PEERS, '10.0.0.2', { verdict: { kind: 'drop' } })]],
  ['with a comment', [add(PEERS, '10.0.0.2', { comment: 'why' })]],
  ['of another kind', [{ op: 'flushChain', family: 'ip', chain: 'forward' }]],
  ['of nothing', []],
])('a batch %s is not the one that was kept', (_, ops) => {
  const prepared = new PreparedBatches();
  prepared.encode(draft([ADD]));
  expect(prepared.again(ops, 1, 7)).toBeUndefined();
  expect(bytesOf(prepared.encode(draft(ops)))).toBe(madeAnew(draft(ops)));
});

test('a key that is not canonical is refused, and the kept batch serves the next', () => {
  const prepared = new PreparedBatches();
  prepared.encode(draft([ADD]));
  expect(() => prepared.again([add(PEERS, '10.0.0')], 1, 7)).toThrow(RangeError);
  expect(bytesOf(prepared.again([ADD], 1, 7)!)).toBe(madeAnew(draft([ADD])));
});

test('what asks for an echo or adopts tables is not kept', () => {
  const prepared = new PreparedBatches();
  const tables = [{ family: 'ip', flags: 6 }] as const;
  for (const extra of [{ tables }, { tables, echo: true }]) prepared.encode({ ...draft([ADD]), ...extra });
  expect(prepared.again([ADD], 1, 7)).toBeUndefined();
});

test('the oldest of many is forgotten', () => {
  const prepared = new PreparedBatches();
  const sets = Array.from({ length: 9 }, (_, i) => ({ ...PEERS, name: `set-${i}` }));
  for (const set of sets) prepared.encode(draft([add(set, '10.0.0.1')]));
  const known = sets.map(set => prepared.again([add(set, '10.0.0.1')], 1, 7) !== undefined);
  expect(known).toEqual([false, ...Array(8).fill(true)]);
});
