/**
 * nftables as data: what stands, or should stand, in our tables. Knows nothing of Kubernetes and nothing of
 * bytes on a socket. Expressions are the kernel's own, so that a trace executes what the kernel executes.
 */
import type { Family } from '../model/address.ts';

export type { Family };

export const TABLE_NAME = 'sluice';

/** What stands in `ip sluice` and `ip6 sluice`. A family without a table has no entry. */
export interface Ruleset {
  readonly tables: ReadonlyMap<Family, Table>;
}

export interface Table {
  readonly sets: ReadonlyMap<string, NftSet>;
  readonly chains: ReadonlyMap<string, Chain>;
}

export type FieldType = 'ipv4_addr' | 'ipv6_addr' | 'inet_proto' | 'inet_service';

/** A set or verdict map, without its elements. */
export interface SetSpec {
  readonly name: string;
  /** One field, or several that are looked up as a concatenation. Empty: read back, and of a kind that is not ours. */
  readonly key: readonly FieldType[];
  /** A verdict map: every element has a verdict. */
  readonly verdicts: boolean;
  /** Elements are disjoint, non-adjacent ranges of a single-field key; such a set is never changed, only replaced. */
  readonly interval: boolean;
  readonly comment?: string;
}

/**
 * Canonical key text, fields joined by ` . `: `10.0.0.1`, `tcp . 80`, `10.0.0.1 . udp . 53`; in an interval set
 * a network (`10.0.0.0/8`) or a range (`10.0.0.0-10.0.0.9`). Protocols are `tcp`, `udp`, `sctp`.
 */
export type ElementKey = string;

export interface ElementValue {
  readonly verdict?: Verdict;
  /** At most 120 bytes. */
  readonly comment?: string;
}

export type Elements = ReadonlyMap<ElementKey, ElementValue>;

/** The value of every plain member: shared, because there are very many of them. */
export const MEMBER: ElementValue = Object.freeze({});

export interface NftSet extends SetSpec {
  readonly elements: Elements;
  /** Room that the kernel has reserved; known only of a set that was read back or planned. */
  readonly size?: number;
}

export interface BaseHook {
  /** Ours are at forward, input and output; the others are only ever read back. */
  readonly hook: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';
  readonly priority: number;
  readonly policy: 'accept' | 'drop';
}

export interface Chain {
  readonly name: string;
  /** Only base chains have one. */
  readonly hook?: BaseHook;
  readonly rules: readonly Rule[];
}

export interface Rule {
  readonly exprs: readonly Expr[];
  /** Which policy rule it came from. At most 120 bytes. */
  readonly comment?: string;
}

export type Verdict =
  | { readonly kind: 'accept' | 'drop' | 'return' }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string };

/** 32-bit registers 0..15 as `NFT_REG32_00 + n`; a 16-byte value takes four, from a multiple of four. */
export type Register = number;

/** Lower-case hexadecimal bytes in the order in which they stand in the register. */
export type Hex = string;

/** `iif` and `oif` are the indices of the interfaces by which a packet came and goes: 0 where there is none. */
export type MetaKey = 'l4proto' | 'nfproto' | 'iif' | 'oif';

export type CmpOp = 'eq' | 'neq' | 'lt' | 'lte' | 'gt' | 'gte';

/** `linux/netfilter/nf_tables.h`, NFTA_META_*, NFTA_PAYLOAD_*, …: one object per kernel expression. */
export type Expr =
  | { readonly kind: 'meta'; readonly key: MetaKey; readonly dreg: Register }
  | { readonly kind: 'ct'; readonly key: 'state'; readonly dreg: Register }
  | {
      readonly kind: 'payload';
      readonly base: 'network' | 'transport';
      readonly offset: number;
      readonly length: number;
      readonly dreg: Register;
    }
  | {
      readonly kind: 'bitwise';
      readonly sreg: Register;
      readonly dreg: Register;
      readonly mask: Hex;
      readonly xor: Hex;
    }
  | { readonly kind: 'cmp'; readonly sreg: Register; readonly op: CmpOp; readonly data: Hex }
  /** Breaks off the rule on a miss; with `invert` on a hit; with `vmap` the element's verdict is the rule's. */
  | {
      readonly kind: 'lookup';
      readonly set: string;
      readonly sreg: Register;
      readonly vmap: boolean;
      readonly invert: boolean;
    }
  | { readonly kind: 'counter' }
  | { readonly kind: 'verdict'; readonly verdict: Verdict }
  /** Only ever read back: an expression that is not ours. No rule of ours equals a rule that holds one. */
  | { readonly kind: 'unknown'; readonly name: string };
