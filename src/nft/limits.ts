/**
 * Size limits of the kernel (`linux/netfilter/nf_tables.h`, `net/netfilter/nf_tables_api.c`). An object that is larger
 * makes the kernel refuse the whole batch, so the compiler stays below them. test/contract/kernel-contract.ts has a
 * case for each limit, which runs on nf_tables and on the fake kernel.
 */
import type { Expr } from './ruleset.ts';

/** The name of a table, chain or set, in bytes: NFT_NAME_MAXLEN without the NUL. A longer one is ERANGE. */
export const MAX_NAME_BYTES = 255;

/** The comment of a rule, set or element, in bytes. The kernel accepts 253, but nft 1.0.6 lists no longer one. */
export const MAX_COMMENT_BYTES = 127;

/** The prefix of a log expression, in bytes: NF_LOG_PREFIXLEN without the NUL. A longer one is ERANGE. */
export const MAX_PREFIX_BYTES = 127;

/** Expressions in a rule: NFT_RULE_MAXEXPRS. More is EINVAL. */
export const MAX_EXPRESSIONS = 128;

/** All expressions of a rule as the kernel stores them: `dlen` of struct nft_rule has 12 bits. More is EFBIG. */
export const MAX_RULE_BYTES = 4095;

/** Fields of a set's key: the type of a concatenation is a u32, with six bits for each field. */
export const MAX_KEY_FIELDS = 5;

/** The key of a set: NFT_DATA_VALUE_MAXLEN. More is EINVAL. */
export const MAX_KEY_BYTES = 64;

/**
 * The declared size of a set: one element more than declared is ENFILE. It is a u32, and kernels since 6.14 store twice
 * the size of an interval set in it.
 */
export const MAX_SET_SIZE = 0x7fffffff;

/** The depth of chains, the base chain included: NFT_JUMP_STACK_SIZE. More is EMLINK. */
export const MAX_CHAIN_DEPTH = 16;

/** Whether a rule of these expressions is within the kernel's size limits. */
export function fitsRule(exprs: readonly Expr[]): boolean {
  return exprs.length <= MAX_EXPRESSIONS && ruleBytes(exprs) <= MAX_RULE_BYTES;
}

/** The size of a rule of these expressions in the kernel. */
export function ruleBytes(exprs: readonly Expr[]): number {
  let bytes = 0;
  for (const expr of exprs) bytes += exprBytes(expr);
  return bytes;
}

// NFT_EXPR_SIZE: a pointer to the operations, and the private data (struct nft_cmp_expr, …) in multiples of eight.
const SMALL = 16;
const VERDICT = 32;
const LOOKUP = 56;
/** The size of a dynset expression with a limit. The queue target of xtables is no larger. */
const DYNSET = 128;
/** The size of log and limit expressions: struct nft_log, struct nft_limit_priv_pkts. */
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
      return SMALL; // all others: meta, ct, fib, payload, nat, masq, counter, last
  }
}

/** nft_cmp_select_ops: the fast variants store a mask beside the value. */
function cmpBytes({ op, data, sreg }: Expr & { kind: 'cmp' }): number {
  if (op !== 'eq' && op !== 'neq') return CMP.general;
  if (bytesOf(data) <= 4) return CMP.fast;
  return sreg % 2 === 0 ? CMP.fast16 : CMP.general;
}

function bytesOf(hex: string): number {
  return hex.length / 2;
}
