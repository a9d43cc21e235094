/** The virtual machine of nf_tables: sixteen registers of four bytes, and expressions that load, compare and look up. */

import { CT_STATE } from '../match.ts';
import type {
  BaseHook,
  CmpOp,
  ElementKey,
  Expr,
  Family,
  Hex,
  MetaKey,
  Register,
  Table,
  Verdict,
} from '../ruleset.ts';
import { fieldsLength, findElement } from './lookup.ts';

export type CtState = keyof typeof CT_STATE;

export interface VerdictHit {
  readonly verdict: Verdict;
  readonly element?: { readonly set: string; readonly key: ElementKey; readonly comment?: string };
}

/** `break` ends the rule, and the next one is tried. */
export type Result = 'continue' | 'break' | VerdictHit;

const REGISTER_BYTES = 4;
/** NFPROTO_IPV4, NFPROTO_IPV6. */
const NFPROTO: Readonly<Record<Family, number>> = { ip: 2, ip6: 10 };

/** Of packets that come and go by other interfaces than loopback, which is 1. */
const INTERFACES: Readonly<Record<BaseHook['hook'], { readonly iif: number; readonly oif: number }>> = {
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
  readonly #hook: BaseHook['hook'];

  constructor(table: Table, family: Family, hook: BaseHook['hook'], packet: Uint8Array, ctState: CtState) {
    this.#table = table;
    this.#family = family;
    this.#hook = hook;
    this.#packet = packet;
    this.#ctState = ctState;
  }

  evaluate(expr: Expr): Result {
    switch (expr.kind) {
      case 'meta':
        return this.#store(expr.dreg, this.#meta(expr.key));
      case 'ct': // A host-endian mask with one bit.
        return this.#store(expr.dreg, [CT_STATE[this.#ctState], 0, 0, 0]);
      case 'payload':
        return this.#load(expr);
      case 'bitwise':
        return this.#store(expr.dreg, maskAndXor(this.#bytes(expr.sreg, expr.mask.length / 2), expr));
      case 'cmp':
        return compares(expr.op, order(this.#bytes(expr.sreg, expr.data.length / 2), expr.data));
      case 'lookup':
        return this.#lookup(expr);
      case 'counter':
        return 'continue';
      case 'verdict':
        return { verdict: expr.verdict };
      case 'unknown':
        throw new TypeError(`expression "${expr.name}" is not ours: what it does is not known`);
    }
  }

  #meta(key: MetaKey): readonly number[] {
    if (key === 'iif' || key === 'oif') return [INTERFACES[this.#hook][key], 0, 0, 0];
    return [key === 'l4proto' ? this.#protocol() : NFPROTO[this.#family]];
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

  #lookup({ set: name, sreg, vmap, invert }: Expr & { kind: 'lookup' }): Result {
    const set = this.#table.sets.get(name);
    if (set === undefined) throw new RangeError(`set ${name} does not exist`);
    const found = findElement(set, this.#bytes(sreg, fieldsLength(set.key)));
    if ((found !== undefined) === invert) return 'break';
    if (!vmap) return 'continue';
    const [key, { verdict, comment }] = found!;
    return { verdict: verdict!, element: { set: name, key, ...(comment !== undefined && { comment }) } };
  }

  #bytes(register: Register, length: number): Uint8Array {
    const start = register * REGISTER_BYTES;
    return this.#registers.subarray(start, start + length);
  }

  /** What does not fill its last register is padded with zeros. */
  #store(register: Register, bytes: ArrayLike<number>): 'continue' {
    const start = register * REGISTER_BYTES;
    const end = start + Math.ceil(bytes.length / REGISTER_BYTES) * REGISTER_BYTES;
    this.#registers.set(bytes, start);
    this.#registers.fill(0, start + bytes.length, end);
    return 'continue';
  }
}

function maskAndXor(bytes: Uint8Array, { mask, xor }: { mask: Hex; xor: Hex }): Uint8Array {
  return bytes.map((byte, i) => (byte & byteOf(mask, i)) ^ byteOf(xor, i));
}

/** As memcmp: below, at or above zero. */
function order(bytes: Uint8Array, data: Hex): number {
  for (let i = 0; i < bytes.length; i++) {
    const difference = bytes[i]! - byteOf(data, i);
    if (difference !== 0) return difference;
  }
  return 0;
}

function byteOf(hex: Hex, index: number): number {
  return Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16);
}

function compares(op: CmpOp, difference: number): 'continue' | 'break' {
  return HOLDS[op](difference) ? 'continue' : 'break';
}

const HOLDS: Readonly<Record<CmpOp, (difference: number) => boolean>> = {
  eq: difference => difference === 0,
  neq: difference => difference !== 0,
  lt: difference => difference < 0,
  lte: difference => difference <= 0,
  gt: difference => difference > 0,
  gte: difference => difference >= 0,
};
