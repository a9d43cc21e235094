/**
 * How much the kernel takes (`linux/netfilter/nf_tables.h`, `net/netfilter/nf_tables_api.c`). What is larger is
 * refused with the whole batch, so whoever makes rules stays below: test/contract/kernel-contract.ts has a case
 * for each, which runs on nf_tables and on the fake kernel.
 */
import type { Expr } from './ruleset.ts';

/** Of a table, chain or set, in bytes: NFT_NAME_MAXLEN without the NUL. More is ERANGE. */
export const MAX_NAME_BYTES = 255;

/** Of a rule, set or element, in bytes. The kernel takes 253, but nft 1.0.6 lists none that is longer than this. */
export const MAX_COMMENT_BYTES = 127;

/** Of what a rule logs packets under, in bytes: NF_LOG_PREFIXLEN without the NUL. More is ERANGE. */
export const MAX_PREFIX_BYTES = 127;

/** NFT_RULE_MAXEXPRS; more is EINVAL. */
export const MAX_EXPRESSIONS = 128;

/** Of all expressions of a rule as the kernel keeps them: `dlen` of struct nft_rule has 12 bits. More is EFBIG. */
export const MAX_RULE_BYTES = 4095;

/** Fields of a set's key: the type of a concatenation is a u32, of which each field takes six bits. */
export const MAX_KEY_FIELDS = 5;

/** Of a set's key: NFT_DATA_VALUE_MAXLEN. More is EINVAL. */
export const MAX_KEY_BYTES = 64;

/**
 * Elements that a set can be declared to have room for; one more than was declared is ENFILE. A u32, and kernels
 * since 6.14 keep twice the size of an interval set in it.
 */
export const MAX_SET_SIZE = 0x7fffffff;

/** Chains on one way through a table, the base chain included: NFT_JUMP_STACK_SIZE. More is EMLINK. */
export const MAX_CHAIN_DEPTH = 16;

/** Whether a rule of these expressions is one that the kernel takes for its size. */
export function fitsRule(exprs: readonly Expr[]): boolean {
  return exprs.length <= MAX_EXPRESSIONS && ruleBytes(exprs) <= MAX_RULE_BYTES;
}

/** What a rule of these expressions takes in the kernel. */
export function ruleBytes(exprs: readonly Expr[]): number {
  let bytes = 0;
  for (const expr of exprs) bytes += exprBytes(expr);
  return bytes;
}

// NFT_EXPR_SIZE: a pointer to the operations, and the private data (struct nft_cmp_expr, …) in multiples of eight.
const SMALL = 16;
const VERDICT = 32;
const LOOKUP = 56;
/** With a limit; an xtables target is no larger. */
const DYNSET = 128;
/** struct nft_log, struct nft_limit_priv_pkts. */
const LOG = 32;
const LIMIT = 56;
const BITWISE = { fast: 24, general: 64 } as const;
const CMP = { fast: 24, fast16: 48, general: 32 } as const;

function exprBytes(expr: Expr): number {
  switch (expr.kind) {
    case 'verdict':
      return VERDICT;
    case 'lookup':
      return LOOKUP;
    case 'dynset':
    case 'queue':
      return DYNSET;
    case 'log':
      return LOG;
    case 'limit':
      return LIMIT;
    case 'bitwise':
      return bytesOf(expr.mask) === 4 ? BITWISE.fast : BITWISE.general;
    case 'cmp':
      return cmpBytes(expr);
    default:
      return SMALL; // meta, ct, fib, payload, nat, masq, counter, last
  }
}

/** nft_cmp_select_ops: the fast ones keep a mask beside the value. */
function cmpBytes({ op, data, sreg }: Expr & { kind: 'cmp' }): number {
  if (op !== 'eq' && op !== 'neq') return CMP.general;
  if (bytesOf(data) <= 4) return CMP.fast;
  return sreg % 2 === 0 ? CMP.fast16 : CMP.general;
}

function bytesOf(hex: string): number {
  return hex.length / 2;
}
