/** Refuses what is larger than the kernel, or our way to it, takes. */
import {
  MAX_COMMENT_BYTES,
  MAX_EXPRESSIONS,
  MAX_KEY_BYTES,
  MAX_KEY_FIELDS,
  MAX_NAME_BYTES,
  MAX_RULE_BYTES,
  MAX_SET_SIZE,
  ruleBytes,
} from '../limits.ts';
import { targetOf } from '../plan/equal.ts';
import type { Op } from '../plan/op.ts';
import type { ElementValue, FieldType, Rule, SetSpec, Verdict } from '../ruleset.ts';
import { Refusal } from './refusal.ts';

type OpOf<Name extends Op['op']> = Extract<Op, { op: Name }>;

/** Elements are looked at one by one, by `refuseLargeValue`. */
export function refuseLargeStep(op: Op): void {
  switch (op.op) {
    case 'addSet':
      refuseLargeSet(op);
      break;
    case 'addElements':
    case 'delElements':
      refuseLongName(op.set.name);
      break;
    case 'delSet':
      refuseLongName(op.set);
      break;
    case 'addChain':
    case 'delChain':
    case 'flushChain':
      refuseLongName(op.chain);
      break;
    case 'addRule':
      refuseLongName(op.chain);
      refuseLargeRule(op.rule);
  }
}

export function refuseLargeValue({ verdict, comment }: ElementValue): void {
  refuseLongTarget(verdict);
  refuseLongComment(comment);
}

function refuseLargeSet({ set, size }: OpOf<'addSet'>): void {
  refuseLongName(set.name);
  refuseLongComment(set.comment);
  if (size > MAX_SET_SIZE) throw new Refusal('ERANGE', `room for ${size} elements`);
  refuseLargeKey(set);
}

const FIELD_BYTES: Readonly<Record<FieldType, number>> = {
  ipv4_addr: 4,
  ipv6_addr: 16,
  inet_proto: 4,
  inet_service: 4,
  iface_index: 4,
};

function refuseLargeKey({ key }: SetSpec): void {
  if (key.length > MAX_KEY_FIELDS) throw new Refusal('ERANGE', `a key of ${key.length} fields`);
  const bytes = key.reduce((sum, type) => sum + FIELD_BYTES[type], 0);
  if (bytes > MAX_KEY_BYTES) throw new Refusal('EINVAL', `a key of ${bytes} bytes`);
}

function refuseLargeRule({ exprs, comment }: Rule): void {
  refuseLongComment(comment);
  if (exprs.length > MAX_EXPRESSIONS) throw new Refusal('EINVAL', `a rule of ${exprs.length} expressions`);
  for (const expr of exprs) {
    if (expr.kind === 'lookup') refuseLongName(expr.set);
    if (expr.kind === 'verdict') refuseLongTarget(expr.verdict);
  }
  const bytes = ruleBytes(exprs);
  if (bytes > MAX_RULE_BYTES) throw new Refusal('EFBIG', `a rule of ${bytes} bytes`);
}

function refuseLongTarget(verdict: Verdict | undefined): void {
  const target = targetOf(verdict);
  if (target !== undefined) refuseLongName(target);
}

function refuseLongName(name: string): void {
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_NAME_BYTES) throw new Refusal('ERANGE', `a name of ${bytes} bytes`);
}

function refuseLongComment(comment: string | undefined): void {
  const bytes = Buffer.byteLength(comment ?? '');
  if (bytes > MAX_COMMENT_BYTES) throw new Refusal('ERANGE', `a comment of ${bytes} bytes`);
}
