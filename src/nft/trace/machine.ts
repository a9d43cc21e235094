/**
 * The virtual machine of nf_tables: sixteen registers of four bytes, and expressions that load, compare and look up.
 */

import { type Address, addressBytes, addressFromBytes } from '../../model/address.ts';
import { keyLength } from '../fieldbytes.ts';
import { ADDRESS_TYPE, CT_STATE, CT_STATUS } from '../match.ts';
import { PACKET_TYPE } from '../matchinterface.ts';
import type { BaseHook, ElementKey, Expr, Family, MetaKey, NftVerdict, Register, Table } from '../ruleset.ts';
import { fieldsBytes, findElement } from './lookup.ts';
import { bytesOf, compares, hostWord, kindBytes, maskAndXor } from './values.ts';

export type CtState = keyof typeof CT_STATE;

interface VerdictHit {
  readonly verdict: NftVerdict;
  readonly element?: { readonly set: string; readonly key: ElementKey; readonly comment?: string };
  readonly translation?: Translation;
}

/** How a rule translates a connection, beside its verdict on the first packet. */
export type Translation =
  | { readonly kind: 'dnat'; readonly to: Address; readonly port: number }
  | { readonly kind: 'masquerade' };

/** What conntrack has of the packet's connection. */
interface TracedConnection {
  readonly isReply: boolean;
  /** Whether its destination was translated (DNAT). */
  readonly isTranslated?: boolean;
  /** Whether its source was translated (SNAT). */
  readonly isMasqueraded?: boolean;
  /** The destination of the connection before translation. */
  readonly to: Address;
  readonly port: number;
  /** The opener, and the end that replies. */
  readonly from?: Address;
  readonly answerer?: Address;
}

/** What the kernel has for a packet beside its bytes. */
export interface PacketContext {
  readonly iif: number;
  readonly oif: number;
  readonly iifgroup: number;
  readonly oifgroup: number;
  /** The kind of the interface; absent for hardware. */
  readonly iifkind?: string;
  readonly pkttype: keyof typeof PACKET_TYPE;
  readonly mark: number;
  readonly connection?: TracedConnection;
  /** The node's route of an address. */
  readonly route: (address: Address) => { readonly oif: number; readonly type: keyof typeof ADDRESS_TYPE };
}

/** `break` ends the rule, and the next rule is executed. */
export type Result = 'continue' | 'break' | VerdictHit;

const REGISTER_BYTES = 4;
/** The values of `meta nfproto`: NFPROTO_IPV4, NFPROTO_IPV6. */
const NFPROTO: Readonly<Record<Family, number>> = { ip: 2, ip6: 10 };

/** The default interfaces at each hook: packets arrive and leave by others than loopback, which has index 1. */
const INTERFACES: Readonly<Record<BaseHook['hook'], Pick<PacketContext, 'iif' | 'oif'>>> = {
  prerouting: { iif: 2, oif: 0 },
  input: { iif: 2, oif: 0 },
  forward: { iif: 2, oif: 3 },
  output: { iif: 0, oif: 3 },
  postrouting: { iif: 0, oif: 3 },
};

export class Machine {
  readonly #registers = new Uint8Array(16 * REGISTER_BYTES);
  readonly #table: Table;
  readonly #family: Family;
  readonly #packet: Uint8Array;
  readonly #ctState: CtState;
  readonly #around: PacketContext;

  /**
   * By default the packet is an ordinary one: its interfaces have no group, and it arrives by the interface to which
   * the route of its source leads.
   */
  constructor(
    table: Table,
    family: Family,
    hook: BaseHook['hook'],
    packet: Uint8Array,
    ctState: CtState,
    around: Partial<PacketContext> = {},
  ) {
    this.#table = table;
    this.#family = family;
    this.#packet = packet;
    this.#ctState = ctState;
    const interfaces = { ...INTERFACES[hook], ...around };
    this.#around = {
      iifgroup: 0,
      oifgroup: 0,
      pkttype: 'host',
      mark: 0,
      route: () => ({ oif: interfaces.iif, type: 'unicast' }),
      ...interfaces,
    };
  }

  evaluate(expr: Expr): Result {
    switch (expr.kind) {
      // A trace changes no sets: the element is assumed to be added, and no key to exceed a rate.
      case 'dynset':
        return expr.over === undefined ? 'continue' : 'break';
      case 'limit':
        return expr.over ? 'break' : 'continue';
      case 'queue':
        return { verdict: ACCEPT };
      case 'meta':
        return this.#loadMeta(expr);
      case 'ct':
        return this.#loadCt(expr);
      case 'fib':
        return this.#store(expr.dreg, this.#fib(expr));
      case 'exthdr':
        return this.#store(expr.dreg, [0]); // no traced packet has an extension header
      case 'payload':
        return this.#load(expr);
      case 'bitwise':
        return this.#store(expr.dreg, maskAndXor(this.#bytes(expr.sreg, expr.mask.length / 2), expr));
      case 'cmp':
        return compares(expr.op, this.#order(expr.sreg, bytesOf(expr.data)));
      case 'lookup':
        return this.#lookup(expr);
      case 'nat':
        return { verdict: ACCEPT, translation: this.#target(expr) };
      case 'masq':
        return { verdict: ACCEPT, translation: { kind: 'masquerade' } };
      case 'counter':
      case 'last':
      case 'log':
        return 'continue';
      case 'verdict':
        return { verdict: expr.verdict };
      case 'unknown':
        throw new TypeError(`expression "${expr.name}" is not ours: what it does is not known`);
    }
  }

  #loadMeta({ key, dreg }: Expr & { kind: 'meta' }): Result {
    const value = this.#meta(key);
    return value === undefined ? 'break' : this.#store(dreg, value);
  }

  /** Undefined if there is no interface whose group or kind could be loaded. */
  #meta(key: MetaKey): readonly number[] | undefined {
    const { iif, oif, pkttype } = this.#around;
    switch (key) {
      case 'mark':
        return hostWord(this.#around.mark);
      case 'iif':
      case 'oif':
        return hostWord(this.#around[key]);
      case 'iifgroup':
        return iif === 0 ? undefined : hostWord(this.#around.iifgroup);
      case 'oifgroup':
        return oif === 0 ? undefined : hostWord(this.#around.oifgroup);
      case 'iifkind':
        return this.#around.iifkind === undefined ? undefined : kindBytes(this.#around.iifkind);
      case 'pkttype':
        return [PACKET_TYPE[pkttype]];
      case 'l4proto':
        return [this.#protocol()];
      case 'nfproto':
        return [NFPROTO[this.#family]];
    }
  }

  #loadCt({ key, dreg }: Expr & { kind: 'ct' }): Result {
    const { connection } = this.#around;
    if (key === 'state') return this.#store(dreg, [CT_STATE[this.#ctState], 0, 0, 0]); // a bit mask in host byte order
    if (connection === undefined) return 'break';
    switch (key) {
      case 'direction':
        return this.#store(dreg, [connection.isReply ? 1 : 0]);
      case 'status':
        return this.#store(dreg, [statusOf(connection), 0, 0, 0]);
      case 'original proto-dst':
        return this.#store(dreg, [connection.port >> 8, connection.port & 0xff]);
      case 'original ip saddr':
      case 'original ip6 saddr':
        return this.#storeAddress(dreg, connection.from);
      case 'reply ip saddr':
      case 'reply ip6 saddr':
        return this.#storeAddress(dreg, connection.answerer);
      default:
        return this.#storeAddress(dreg, connection.to);
    }
  }

  #storeAddress(dreg: Register, address: Address | undefined): Result {
    return address === undefined ? 'break' : this.#store(dreg, addressBytes(address));
  }

  #fib({ result, flags }: Expr & { kind: 'fib' }): readonly number[] {
    const offset = ADDRESS_OFFSET[this.#family][flags.includes('saddr') ? 'saddr' : 'daddr'];
    const length = this.#family === 'ip' ? 4 : 16;
    const { oif, type } = this.#around.route(
      addressFromBytes(this.#packet.subarray(offset, offset + length)),
    );
    if (result === 'type') return hostWord(ADDRESS_TYPE[type]);
    const asked = flags.includes('iif') ? this.#around.iif : flags.includes('oif') ? this.#around.oif : oif;
    const found = oif === asked ? oif : 0;
    return hostWord(result === 'exists' && found !== 0 ? 1 : found);
  }

  #target({ family, address, port }: Expr & { kind: 'nat' }): Translation {
    const [high, low] = this.#bytes(port, 2);
    const to = addressFromBytes(this.#bytes(address, family === 'ip' ? 4 : 16));
    return { kind: 'dnat', to, port: (high! << 8) | low! };
  }

  #protocol(): number {
    return this.#packet[this.#family === 'ip' ? 9 : 6]!;
  }

  #load({ base, offset, length, dreg }: Expr & { kind: 'payload' }): Result {
    const start = (base === 'transport' ? this.#transportOffset() : 0) + offset;
    if (start + length > this.#packet.length) return 'break';
    return this.#store(dreg, this.#packet.subarray(start, start + length));
  }

  #transportOffset(): number {
    return this.#family === 'ip' ? (this.#packet[0]! & 0x0f) * 4 : 40;
  }

  #lookup({ set: name, sreg, vmap, invert, dreg }: Expr & { kind: 'lookup' }): Result {
    const set = this.#table.sets.get(name);
    if (set === undefined) throw new RangeError(`set ${name} does not exist`);
    const found = findElement(set, this.#bytes(sreg, keyLength(set.key)));
    if ((found !== undefined) === invert) return 'break';
    if (dreg !== undefined) return this.#store(dreg, fieldsBytes(set.data ?? [], found![1].data ?? ''));
    if (!vmap) return 'continue';
    const [key, { verdict, comment }] = found!;
    return { verdict: verdict!, element: { set: name, key, ...(comment !== undefined && { comment }) } };
  }

  /** Compares a register with the data like memcmp: negative, zero or positive. */
  #order(register: Register, data: Uint8Array): number {
    const start = register * REGISTER_BYTES;
    for (let i = 0; i < data.length; i++) {
      const difference = this.#registers[start + i]! - data[i]!;
      if (difference !== 0) return difference;
    }
    return 0;
  }

  #bytes(register: Register, length: number): Uint8Array {
    const start = register * REGISTER_BYTES;
    return this.#registers.subarray(start, start + length);
  }

  /** The rest of the last register is filled with zeros. */
  #store(register: Register, bytes: ArrayLike<number>): 'continue' {
    const start = register * REGISTER_BYTES;
    const end = start + Math.ceil(bytes.length / REGISTER_BYTES) * REGISTER_BYTES;
    this.#registers.set(bytes, start);
    this.#registers.fill(0, start + bytes.length, end);
    return 'continue';
  }
}

function statusOf({ isTranslated = false, isMasqueraded = false }: TracedConnection): number {
  return (isTranslated ? CT_STATUS.dnat : 0) | (isMasqueraded ? CT_STATUS.snat : 0);
}

const ACCEPT: NftVerdict = { kind: 'accept' };

// Offsets of the addresses in the fixed IPv4 and IPv6 headers.
const ADDRESS_OFFSET = { ip: { saddr: 12, daddr: 16 }, ip6: { saddr: 8, daddr: 24 } } as const;
