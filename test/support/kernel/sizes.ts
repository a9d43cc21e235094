/** Refuses what is larger than the kernel takes, in the order in which the kernel looks. */

import { paddedLength } from '../../../src/nft/fieldbytes.ts';
import {
  MAX_EXPRESSIONS,
  MAX_KEY_BYTES,
  MAX_NAME_BYTES,
  MAX_PREFIX_BYTES,
  MAX_RULE_BYTES,
  ruleBytes,
} from '../../../src/nft/limits.ts';
import type { Op } from '../../../src/nft/plan/op.ts';
import type { Expr, NftRule, SetSpec } from '../../../src/nft/ruleset.ts';
import { Refusal } from './refusal.ts';

/** Limits that the kernel checks before it looks anything up that the operation names. */
export function refuseLargeStep(op: Op): void {
  switch (op.op) {
    case 'addSet':
      refuseLongName(op.set.name);
      refuseLargeKey(op.set);
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
    case 'addRule':
      refuseLongName(op.chain);
  }
}

/**
 * Limits that the kernel checks after it has found the chain, and before it looks up anything that the expressions
 * name.
 */
export function refuseLargeRule({ exprs }: NftRule): void {
  if (exprs.length > MAX_EXPRESSIONS) throw new Refusal('EINVAL', `a rule of ${exprs.length} expressions`);
  const bytes = ruleBytes(exprs);
  if (bytes > MAX_RULE_BYTES) throw new Refusal('EFBIG', `a rule of ${bytes} bytes`);
}

export function refuseLongName(name: string): void {
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_NAME_BYTES) throw new Refusal('ERANGE', `a name of ${bytes} bytes`);
}

export function refuseLongPrefix({ prefix }: Expr & { kind: 'log' }): void {
  const bytes = Buffer.byteLength(prefix);
  if (bytes > MAX_PREFIX_BYTES) throw new Refusal('ERANGE', `a prefix of ${bytes} bytes`);
}

/** nft_limit_init: no rate of none a second. */
export function refuseLimit({ perSecond }: { readonly perSecond: number }): void {
  if (perSecond < 1) throw new Refusal('EINVAL', 'a limit of none a second');
}

function refuseLargeKey({ key }: SetSpec): void {
  const bytes = paddedLength(key);
  if (bytes > MAX_KEY_BYTES) throw new Refusal('EINVAL', `a key of ${bytes} bytes`);
}
