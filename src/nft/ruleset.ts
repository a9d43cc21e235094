/**
 * nftables as data: the actual or the desired state of our tables. It knows nothing of Kubernetes and nothing of
 * netlink. Expressions are those of the kernel, so that a trace executes what the kernel executes.
 */

import type { Rate } from '../lib/fairness/rates.ts';
import type { Family } from '../model/address.ts';

export type { Family };

export const TABLE_NAME = 'sluice';

/** A table of IP packets, or of frames between the ports of a bridge. */
export type TableFamily = Family | 'bridge';

export const TABLE_FAMILIES: readonly TableFamily[] = ['ip', 'ip6', 'bridge'];

/** The content of `ip sluice`, `ip6 sluice` and `bridge sluice`. A family without a table has no entry. */
export interface Ruleset {
  readonly tables: ReadonlyMap<TableFamily, Table>;
}

export interface Table {
  readonly sets: ReadonlyMap<string, NftSet>;
  readonly chains: ReadonlyMap<string, Chain>;
}

export type FieldType =
  | 'ipv4_addr'
  | 'ipv6_addr'
  | 'ether_addr'
  | 'inet_proto'
  | 'inet_service'
  | 'iface_index';

/** A set, a verdict map or a data map, without its elements. */
export interface SetSpec {
  readonly name: string;
  /**
   * The types of the key's fields: several fields are a concatenation. Empty for a set that was read back and is of a
   * kind that we do not make.
   */
  readonly key: readonly FieldType[];
  /** A verdict map: every element has a verdict. */
  readonly verdicts: boolean;
  /** For a data map: the types of the fields of each element's data. Absent for verdict maps. */
  readonly data?: readonly FieldType[];
  /** Elements are disjoint, non-adjacent ranges of a key with one field. Such a set is replaced, never changed. */
  readonly interval: boolean;
  /** Rules add and delete its elements: a plan creates such a set and never touches its elements. */
  readonly dynamic?: DynamicSet;
  readonly comment?: string;
}

/** The elements of a dynamic set have timeouts. */
interface DynamicSet {
  /** Its declared size: further elements are not added. */
  readonly size: number;
  /** The timeout of elements that a rule adds without one. */
  readonly timeoutMs?: number;
}

/**
 * Canonical key text, fields joined by ` . `: `10.0.0.1`, `tcp . 80`, `10.0.0.1 . udp . 53`; in an interval set
 * a network (`10.0.0.0/8`) or a range (`10.0.0.0-10.0.0.9`). Protocols are `tcp`, `udp`, `sctp`; interfaces are
 * their indices; hardware addresses are `0a:00:00:00:00:01`.
 */
export type ElementKey = string;

export interface ElementValue {
  readonly verdict?: NftVerdict;
  /** The text of the set's data fields, written like a key. */
  readonly data?: ElementKey;
  /** The comment of an element, at most 120 bytes. */
  readonly comment?: string;
  /** Only for an element of a dynamic set that was read back: the time until it expires. */
  readonly leftMs?: number;
}

export type Elements = ReadonlyMap<ElementKey, ElementValue>;

/** The value of every plain member: one shared object, because there are very many members. */
export const MEMBER: ElementValue = Object.freeze({});

/** Whether the element has no value beside its key. */
export function isMember({ verdict, data, comment, leftMs }: ElementValue): boolean {
  return verdict === undefined && data === undefined && comment === undefined && leftMs === undefined;
}

export interface NftSet extends SetSpec {
  readonly elements: Elements;
  /** The size that the kernel has reserved; only known for a set that was read back or planned. */
  readonly size?: number;
}

export interface BaseHook {
  /** `filter` if absent. A `nat` chain sees the first packet of a connection only. We never make `route` chains. */
  readonly type?: 'nat' | 'route';
  readonly hook: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';
  readonly priority: number;
  readonly policy: 'accept' | 'drop';
}

export interface Chain {
  readonly name: string;
  /** Absent for chains that are not base chains. */
  readonly hook?: BaseHook;
  readonly rules: readonly NftRule[];
}

export interface NftRule {
  readonly exprs: readonly Expr[];
  /** The policy rule that it was compiled from. At most 120 bytes. */
  readonly comment?: string;
}

export type NftVerdict =
  | { readonly kind: 'accept' | 'drop' | 'return' }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string };

/** 32-bit registers 0..15 as `NFT_REG32_00 + n`; a 16-byte value takes four, from a multiple of four. */
export type Register = number;

/** Bytes in the order of the register, as lower-case hexadecimal text. */
export type Hex = string;

/**
 * `iif` and `oif` are the indices of the interfaces by which a packet arrives and leaves, 0 if there is none. Their
 * groups (IFLA_GROUP) and `iifkind` (such as `veth`) end the rule without a match if there is no interface, or if it
 * has no kind, as hardware. `pkttype` is the receiver of the frame (PACKET_*).
 */
export type MetaKey =
  | 'mark'
  | 'l4proto'
  | 'nfproto'
  | 'iif'
  | 'oif'
  | 'iifgroup'
  | 'oifgroup'
  | 'iifkind'
  | 'pkttype';

/**
 * About the packet's connection: `direction` is 0 for packets of its opener and 1 for replies; `status` has its flags
 * (IPS_*); `original …` are the source and destination of the first packet before any translation, and `reply …` the
 * source of replies as they arrive. Without a connection all but `state` end the rule without a match.
 */
export type CtKey =
  | 'state'
  | 'direction'
  | 'status'
  | `original ${Family} saddr`
  | `original ${Family} daddr`
  | `reply ${Family} saddr`
  | 'original proto-dst';

/** The address whose route is looked up, and the interface by which it must lead there. */
export type FibFlag = 'saddr' | 'daddr' | 'iif' | 'oif';

export const QUEUE_FORMS = ['nft', 'xt'] as const;
export type QueueBy = (typeof QUEUE_FORMS)[number];

export type CmpOp = 'eq' | 'neq' | 'lt' | 'lte' | 'gt' | 'gte';

/** `linux/netfilter/nf_tables.h`, NFTA_META_*, NFTA_PAYLOAD_*, …: one object per kernel expression. */
export type Expr =
  | { readonly kind: 'meta'; readonly key: MetaKey; readonly dreg: Register }
  | { readonly kind: 'ct'; readonly key: CtKey; readonly dreg: Register }
  /**
   * The route of an address: the interface to which it leads (0: none), whether there is one (0 or 1), or the type of
   * the address (RTN_*).
   */
  | {
      readonly kind: 'fib';
      readonly result: 'oif' | 'exists' | 'type';
      /** The flags of the look-up, sorted in the order of `FibFlag`. */
      readonly flags: readonly FibFlag[];
      readonly dreg: Register;
    }
  | {
      readonly kind: 'payload';
      /** `link` is the Ethernet header, with the VLAN tag that the frame had when it arrived. */
      readonly base: 'link' | 'network' | 'transport';
      readonly offset: number;
      readonly length: number;
      readonly dreg: Register;
    }
  /** Whether an IPv6 packet has an extension header of this type (0 or 1), anywhere in the chain of headers. */
  | { readonly kind: 'exthdr'; readonly type: number; readonly dreg: Register }
  | {
      readonly kind: 'bitwise';
      readonly sreg: Register;
      readonly dreg: Register;
      readonly mask: Hex;
      readonly xor: Hex;
    }
  | { readonly kind: 'cmp'; readonly sreg: Register; readonly op: CmpOp; readonly data: Hex }
  /**
   * Ends the rule without a match if the set does not have the key, or, with `invert`, if it has it. With `vmap` the
   * element's verdict becomes the rule's; with `dreg` the element's data are copied there.
   */
  | {
      readonly kind: 'lookup';
      readonly set: string;
      readonly sreg: Register;
      readonly vmap: boolean;
      readonly invert: boolean;
      readonly dreg?: Register;
    }
  /**
   * Translates the destination of the connection to the address and port in these registers, and accepts the packet.
   */
  | {
      readonly kind: 'nat';
      readonly type: 'dnat';
      readonly family: Family;
      readonly address: Register;
      readonly port: Register;
    }
  /** Translates the source of the connection to an address of the outgoing interface, and accepts the packet. */
  | { readonly kind: 'masq' }
  | { readonly kind: 'counter' }
  /** Remembers when the last packet came. Kernels since 5.14 have it. */
  | { readonly kind: 'last' }
  /**
   * Copies the first bytes of the packet to the listener at the nfnetlink_log group, with a prefix. The rule goes on.
   */
  | {
      readonly kind: 'log';
      readonly group: number;
      readonly prefix: string;
      /** The number of bytes, from the IP header on. */
      readonly snaplen: number;
    }
  /** Matches while packets do not exceed the rate; with `over`, only packets that exceed it. */
  | {
      readonly kind: 'limit';
      readonly perSecond: number;
      readonly burst: number;
      readonly over: boolean;
    }
  /**
   * Adds the key in these registers to a dynamic set, renews it or deletes it. If the set is full, the rule ends
   * without a match. With `over`, it matches only packets whose key exceeds the rate.
   */
  | {
      readonly kind: 'dynset';
      readonly op: 'update' | 'delete';
      readonly set: string;
      readonly sreg: Register;
      readonly timeoutMs?: number;
      readonly over?: Rate;
    }
  /**
   * The packet waits for a verdict of user space, and is accepted if no program listens. `by`: nf_tables' own
   * expression, or the xtables target if the kernel lacks that.
   */
  | { readonly kind: 'queue'; readonly number: number; readonly by: QueueBy }
  | { readonly kind: 'verdict'; readonly verdict: NftVerdict }
  /** Only read back: an expression that we do not make. No rule of ours is equal to a rule with one. */
  | { readonly kind: 'unknown'; readonly name: string };

/** The ruleset with some of its tables changed. */
export function mapTables(
  { tables }: Ruleset,
  change: (table: Table, family: TableFamily) => Table,
): Ruleset {
  return { tables: new Map(Array.from(tables, ([family, table]) => [family, change(table, family)])) };
}

/** The ruleset with each chain changed. Chains must keep their names. */
export function mapChains(ruleset: Ruleset, change: (chain: Chain) => Chain): Ruleset {
  return mapTables(ruleset, table => ({ ...table, chains: mapValues(table.chains, change) }));
}

/** The ruleset with each set changed. Sets must keep their names. */
export function mapSets(ruleset: Ruleset, change: (set: NftSet) => NftSet): Ruleset {
  return mapTables(ruleset, table => ({ ...table, sets: mapValues(table.sets, change) }));
}

function mapValues<T>(objects: ReadonlyMap<string, T>, change: (object: T) => T): ReadonlyMap<string, T> {
  return new Map(Array.from(objects, ([name, object]) => [name, change(object)]));
}
