/**
 * nftables as data: the actual or the desired state of our tables. Knows nothing of Kubernetes and nothing of
 * bytes on a socket. Expressions are the kernel's own, so that a trace executes what the kernel executes.
 */

import type { Rate } from '../lib/fairness/rates.ts';
import type { Family } from '../model/address.ts';

export type { Family };

export const TABLE_NAME = 'sluice';

/** Of packets by their family, and of frames between the ports of a bridge. */
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

/** A set, a map to verdicts or a map to data, without its elements. */
export interface SetSpec {
  readonly name: string;
  /** One field, or several that are looked up as a concatenation. Empty: read back, and of a kind that is not ours. */
  readonly key: readonly FieldType[];
  /** A verdict map: every element has a verdict. */
  readonly verdicts: boolean;
  /** A map to data: every element has these fields side by side. Never of a verdict map. */
  readonly data?: readonly FieldType[];
  /** Elements are disjoint, non-adjacent ranges of a single-field key; such a set is never changed, only replaced. */
  readonly interval: boolean;
  /** Packets put elements in and take them out, by rules: a plan makes such a set and never touches its elements. */
  readonly dynamic?: DynamicSet;
  readonly comment?: string;
}

/** Every element ends by itself. */
interface DynamicSet {
  /** Room for so many elements; more are not taken in. */
  readonly size: number;
  /** Of elements that a rule puts in without a time of their own. */
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
  /** At most 120 bytes. */
  readonly comment?: string;
  /** Of an element of a dynamic set that was read back: how long it stands unless it is renewed. */
  readonly leftMs?: number;
}

export type Elements = ReadonlyMap<ElementKey, ElementValue>;

/** The value of every plain member: shared, because there are very many of them. */
export const MEMBER: ElementValue = Object.freeze({});

/** Nothing but its key. */
export function isMember({ verdict, data, comment, leftMs }: ElementValue): boolean {
  return verdict === undefined && data === undefined && comment === undefined && leftMs === undefined;
}

export interface NftSet extends SetSpec {
  readonly elements: Elements;
  /** Room that the kernel has reserved; known only of a set that was read back or planned. */
  readonly size?: number;
}

export interface BaseHook {
  /** `filter` where it is left out. `nat` is asked about the first packet of a connection; `route` is never ours. */
  readonly type?: 'nat' | 'route';
  readonly hook: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';
  readonly priority: number;
  readonly policy: 'accept' | 'drop';
}

export interface Chain {
  readonly name: string;
  /** Only base chains have one. */
  readonly hook?: BaseHook;
  readonly rules: readonly NftRule[];
}

export interface NftRule {
  readonly exprs: readonly Expr[];
  /** Which policy rule it came from. At most 120 bytes. */
  readonly comment?: string;
}

export type NftVerdict =
  | { readonly kind: 'accept' | 'drop' | 'return' }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string };

/** 32-bit registers 0..15 as `NFT_REG32_00 + n`; a 16-byte value takes four, from a multiple of four. */
export type Register = number;

/** Lower-case hexadecimal bytes in the order in which the register has them. */
export type Hex = string;

/**
 * `iif` and `oif` are the indices of the interfaces by which a packet came and goes: 0 where there is none. Their
 * groups (IFLA_GROUP) break the rule off where there is none, and so does `iifkind`, its kind (`veth`), where hardware
 * has none. `pkttype` is whom the frame was for (PACKET_*).
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
 * Of the packet's connection: `direction` is 0 for whoever opened it, 1 for answers; `status` are the flags of the
 * connection (IPS_*); of the first packet, before any translation, who sent it and where to; of answers, as they come,
 * who sends them. All but `state` break the rule off where there is no connection.
 */
export type CtKey =
  | 'state'
  | 'direction'
  | 'status'
  | `original ${Family} saddr`
  | `original ${Family} daddr`
  | `reply ${Family} saddr`
  | 'original proto-dst';

/** Of which address the routes are asked, and by which interface they must lead there. */
export type FibFlag = 'saddr' | 'daddr' | 'iif' | 'oif';

export const QUEUE_FORMS = ['nft', 'xt'] as const;
export type QueueBy = (typeof QUEUE_FORMS)[number];

export type CmpOp = 'eq' | 'neq' | 'lt' | 'lte' | 'gt' | 'gte';

/** `linux/netfilter/nf_tables.h`, NFTA_META_*, NFTA_PAYLOAD_*, …: one object per kernel expression. */
export type Expr =
  | { readonly kind: 'meta'; readonly key: MetaKey; readonly dreg: Register }
  | { readonly kind: 'ct'; readonly key: CtKey; readonly dreg: Register }
  /**
   * What the node's routes say of an address: the interface that they lead to (0: none), whether there is one (0
   * or 1), or the kind of the address (RTN_*).
   */
  | {
      readonly kind: 'fib';
      readonly result: 'oif' | 'exists' | 'type';
      /** In the order of `FibFlag`. */
      readonly flags: readonly FibFlag[];
      readonly dreg: Register;
    }
  | {
      readonly kind: 'payload';
      /** `link` is the Ethernet header, with the VLAN tag that a frame came with. */
      readonly base: 'link' | 'network' | 'transport';
      readonly offset: number;
      readonly length: number;
      readonly dreg: Register;
    }
  /** Whether a packet of IPv6 has an extension header of this type (0 or 1), wherever in their chain. */
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
   * Breaks off the rule on a miss; with `invert` on a hit; with `vmap` the element's verdict is the rule's; with `dreg`
   * the element's data go there.
   */
  | {
      readonly kind: 'lookup';
      readonly set: string;
      readonly sreg: Register;
      readonly vmap: boolean;
      readonly invert: boolean;
      readonly dreg?: Register;
    }
  /** The connection is led to the address and port in these registers, and the packet accepted. */
  | {
      readonly kind: 'nat';
      readonly type: 'dnat';
      readonly family: Family;
      readonly address: Register;
      readonly port: Register;
    }
  /** The connection leaves by an address of its outgoing interface, and the packet is accepted. */
  | { readonly kind: 'masq' }
  | { readonly kind: 'counter' }
  /** Remembers when a packet came here last. Kernels since 5.14 have it. */
  | { readonly kind: 'last' }
  /** Hands the first bytes of the packet to whoever listens at the group of nfnetlink_log, under a prefix; goes on either way. */
  | {
      readonly kind: 'log';
      readonly group: number;
      readonly prefix: string;
      /** Bytes of the packet from its IP header on. */
      readonly snaplen: number;
    }
  /** Goes on while packets come no more often than that; with `over`, only where they come more often. */
  | {
      readonly kind: 'limit';
      readonly perSecond: number;
      readonly burst: number;
      readonly over: boolean;
    }
  /**
   * Puts the key in these registers into a dynamic set, or renews it, or takes it out; breaks the rule off where there
   * is no room. With `over`, goes on only for a key that comes more often than that, in packets.
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
   * The packet waits for a verdict of user space, and goes on where nobody listens. `by`: nf_tables' own expression, or
   * the target of xtables, where the kernel has no other.
   */
  | { readonly kind: 'queue'; readonly number: number; readonly by: QueueBy }
  | { readonly kind: 'verdict'; readonly verdict: NftVerdict }
  /** Only ever read back: an expression that is not ours. No rule of ours equals a rule that holds one. */
  | { readonly kind: 'unknown'; readonly name: string };

/** A ruleset that is as another one, but for some of its objects. */
export function mapTables(
  { tables }: Ruleset,
  change: (table: Table, family: TableFamily) => Table,
): Ruleset {
  return { tables: new Map(Array.from(tables, ([family, table]) => [family, change(table, family)])) };
}

/** Names stay. */
export function mapChains(ruleset: Ruleset, change: (chain: Chain) => Chain): Ruleset {
  return mapTables(ruleset, table => ({ ...table, chains: mapValues(table.chains, change) }));
}

/** Names stay. */
export function mapSets(ruleset: Ruleset, change: (set: NftSet) => NftSet): Ruleset {
  return mapTables(ruleset, table => ({ ...table, sets: mapValues(table.sets, change) }));
}

function mapValues<T>(objects: ReadonlyMap<string, T>, change: (object: T) => T): ReadonlyMap<string, T> {
  return new Map(Array.from(objects, ([name, object]) => [name, change(object)]));
}
