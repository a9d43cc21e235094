/**
 * A packet that is under way while a batch comes into force may be looked up in one set before it and in another after it
 * (docs/decisions/0006-new-interval-sets-go-ahead.md): an address that leaves a set of the denied and joins another was in
 * neither to such a packet. So it joins first, in a batch ahead:
 *
 *     before ── joins what denies ──▶ ── leaves what denied, and all else ──▶ after
 *
 * Only an address of which the batch changes nothing else: between the two batches it is denied what one of the states
 * denies it, and nothing that both allow.
 */
import type { Family } from '../model/address.ts';
import type { Op } from '../nft/plan/op.ts';
import type { ElementKey, Ruleset, SetSpec } from '../nft/ruleset.ts';
import { usesOf } from './connections/tightening.ts';

const FAMILIES: readonly Family[] = ['ip', 'ip6'];

type Change = Extract<Op, { op: 'addElements' | 'delElements' }>;

/** `ops` in the batches to commit them in: one, unless there is such an address. */
export function denialsFirst(
  ops: readonly Op[],
  before: Ruleset,
  after: Ruleset,
): readonly (readonly Op[])[] {
  // Nearly all batches only add, or only delete.
  if (!ops.some(({ op }) => op === 'delElements') || !ops.some(({ op }) => op === 'addElements'))
    return [ops];
  const moving = FAMILIES.flatMap(family => [...movingIn(family, ops, before, after)]);
  if (moving.length === 0) return [ops];
  const addresses = new Set(moving);
  const isMoving = ([key]: readonly [ElementKey, unknown]) => addresses.has(key);
  const isJoining = (op: Op) => op.op === 'addElements' && isOfAddresses(op.set);
  const ahead = ops.filter(isJoining).map(op => withElements(op, isMoving));
  const then = ops.map(op => (isJoining(op) ? withElements(op, element => !isMoving(element)) : op));
  return [ahead.filter(isSomething), then.filter(isSomething)];
}

/** Addresses that leave one denying set and join another, and occur nowhere else in the batch. */
function movingIn(family: Family, ops: readonly Op[], before: Ruleset, after: Ruleset): Set<ElementKey> {
  const changes = ops.filter((op): op is Change => isChange(op) && op.family === family);
  const plain = changes.filter(({ set }) => isOfAddresses(set));
  const leaving = new Set(keysOf(plain, 'delElements'));
  const moving = new Set<ElementKey>();
  for (const key of keysOf(plain, 'addElements')) if (leaving.has(key)) moving.add(key);
  if (moving.size === 0) return moving;
  const denies = ({ set }: Change) =>
    isOfAddresses(set) &&
    [before, after].every(({ tables }) => {
      const table = tables.get(family);
      return table !== undefined && usesOf(table).get(set.name)?.use === 'deny';
    });
  for (const change of changes)
    if (!denies(change)) for (const key of keysIn(change)) moving.delete(addressOf(key));
  return moving;
}

function isChange(op: Op): op is Change {
  return op.op === 'addElements' || op.op === 'delElements';
}

function isOfAddresses({ key, verdicts, data, interval }: SetSpec): boolean {
  return !verdicts && !interval && data === undefined && key.length === 1;
}

function* keysOf(changes: readonly Change[], op: Change['op']): Generator<ElementKey> {
  for (const change of changes) if (change.op === op) yield* keysIn(change);
}

function keysIn(change: Change): readonly ElementKey[] {
  return change.op === 'delElements' ? change.keys : change.elements.map(([key]) => key);
}

/** `10.0.0.1 . tcp . 80`: the address comes first. */
function addressOf(key: ElementKey): ElementKey {
  const end = key.indexOf(' ');
  return end === -1 ? key : key.slice(0, end);
}

function withElements(op: Op, wanted: (element: readonly [ElementKey, unknown]) => boolean): Op {
  return op.op === 'addElements' ? { ...op, elements: op.elements.filter(wanted) } : op;
}

function isSomething(op: Op): boolean {
  return op.op !== 'addElements' || op.elements.length > 0;
}
