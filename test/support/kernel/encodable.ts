/**
 * Refuses what has no bytes: the way to the real kernel ends at the first such step, before any of the batch is sent. It
 * is stricter than the real encoder with keys: what is read back would have another name.
 */

import { MAX_COMMENT_BYTES, MAX_KEY_FIELDS, MAX_SET_SIZE } from '../../../src/nft/limits.ts';
import type { Op } from '../../../src/nft/plan/op.ts';
import type { ElementKey, ElementValue, NftRule, SetSpec } from '../../../src/nft/ruleset.ts';
import { areCanonicalFields, isCanonicalKey } from './element-key.ts';
import { ofElement, Refusal } from './refusal.ts';

type OpOf<Name extends Op['op']> = Extract<Op, { op: Name }>;

export function refuseUnencodable(op: Op): void {
  switch (op.op) {
    case 'addSet':
      checkSet(op);
      break;
    case 'addRule':
      checkRule(op.rule);
      break;
    case 'addElements':
      for (const [key, value] of op.elements) ofElement(key, () => checkElement(op.set, key, value));
      break;
    case 'delElements':
      for (const key of op.keys) ofElement(key, () => checkKey(op.set, key));
  }
}

function checkSet({ set, size }: OpOf<'addSet'>): void {
  checkComment(set.comment);
  if (size > MAX_SET_SIZE) throw new Refusal('ERANGE', `room for ${size} elements`);
  if (set.key.length > MAX_KEY_FIELDS) throw new Refusal('ERANGE', `a key of ${set.key.length} fields`);
}

function checkRule({ exprs, comment }: NftRule): void {
  checkComment(comment);
  for (const expr of exprs)
    if (expr.kind === 'unknown')
      throw new Refusal('EINVAL', `expression "${expr.name}" was read back from a foreign rule`);
}

function checkElement(set: SetSpec, key: ElementKey, { data, comment }: ElementValue): void {
  checkKey(set, key);
  if (data !== undefined && !areCanonicalFields(set.data ?? [], data))
    throw new Refusal('ERANGE', `"${data}" is no canonical text of the data of ${set.name}`);
  checkComment(comment);
}

function checkKey(set: SetSpec, key: ElementKey): void {
  if (!isCanonicalKey(set, key))
    throw new Refusal('ERANGE', `set element "${key}": not a canonical key of ${set.name}`);
}

function checkComment(comment: string | undefined): void {
  const bytes = comment === undefined ? 0 : Buffer.byteLength(comment);
  if (bytes > MAX_COMMENT_BYTES) throw new Refusal('ERANGE', `a comment of ${bytes} bytes`);
}
