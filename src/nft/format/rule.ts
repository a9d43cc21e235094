/**
 * A rule as nft writes it. Expressions are followed in the order in which the kernel executes them. Each register holds a
 * text instead of bytes: a load stores the name of a field, and a compare or look-up turns it into a match.
 *
 *     [payload network+12 => 0] [lookup 0 in peers]   ->   ip saddr @peers
 */

import type { Rate } from '../../lib/fairness/rates.ts';
import type { Expr, Hex, NftRule, NftVerdict, Register, TableFamily } from '../ruleset.ts';
import {
  addressPrefix,
  ctField,
  exthdrField,
  type FormattedField,
  fibField,
  metaField,
  payloadField,
} from './field.ts';
import { timeText } from './time.ts';

export function formatRule(family: TableFamily, { exprs, comment }: NftRule): string {
  const words = new RuleWords(family).of(exprs);
  return [...words, ...(comment === undefined ? [] : [`comment ${quote(comment)}`])].join(' ');
}

export function formatVerdict(verdict: NftVerdict): string {
  return 'chain' in verdict ? `${verdict.kind} ${verdict.chain}` : verdict.kind;
}

/** nft cannot escape a quote within a quoted text. */
export function quote(text: string): string {
  return `"${text.replaceAll('"', "'")}"`;
}

/** The content of a register: a field of the packet, and the mask that was applied to it. */
interface Loaded extends FormattedField {
  readonly mask?: Hex;
}

const PROTOCOL_FIELDS = ['meta l4proto', 'ip protocol'];

type ExprOf<Kind extends Expr['kind']> = Extract<Expr, { kind: Kind }>;

class RuleWords {
  readonly #family: TableFamily;
  readonly #words: string[] = [];
  readonly #registers = new Map<Register, Loaded>();
  /** The protocol that the rule has compared: it decides the names of fields in the transport header. */
  #protocol: string | undefined;

  constructor(family: TableFamily) {
    this.#family = family;
  }

  of(exprs: readonly Expr[]): string[] {
    for (let i = 0; i < exprs.length; i++) if (this.#read(exprs[i]!, exprs[i + 1])) i++;
    return this.#words;
  }

  /** Returns whether it has read the next expression too. */
  #read(expr: Expr, next: Expr | undefined): boolean {
    switch (expr.kind) {
      case 'meta':
        return this.#load(expr.dreg, metaField(expr.key));
      case 'ct':
        return this.#load(expr.dreg, ctField(expr.key));
      case 'fib':
        return this.#load(expr.dreg, fibField(expr));
      case 'exthdr':
        return this.#load(expr.dreg, exthdrField(expr.type));
      case 'payload':
        return this.#load(expr.dreg, payloadField(this.#family, expr, this.#protocol));
      case 'bitwise':
        return this.#mask(expr);
      case 'cmp':
        return this.#compare(expr, next);
      case 'lookup':
        return this.#lookup(expr);
      case 'nat':
        return this.#redirect(expr);
      case 'masq':
        return this.#write('masquerade');
      case 'counter':
      case 'last':
        return this.#write(expr.kind);
      case 'dynset':
        return this.#change(expr);
      case 'log':
        return this.#write(`log prefix ${quote(expr.prefix)} group ${expr.group} snaplen ${expr.snaplen}`);
      case 'limit':
        return this.#write(limitText(expr, expr.over));
      case 'queue':
        return this.#write(`queue flags bypass to ${expr.number}`);
      case 'verdict':
        return this.#write(formatVerdict(expr.verdict));
      case 'unknown':
        return this.#write(`[ ${expr.name} ]`);
    }
  }

  #write(...words: string[]): false {
    this.#words.push(...words);
    return false;
  }

  #load(register: Register, field: Loaded): false {
    this.#registers.set(register, field);
    return false;
  }

  #mask(expr: ExprOf<'bitwise'>): boolean {
    const field = this.#registers.get(expr.sreg);
    if (field === undefined || /[^0]/.test(expr.xor)) return this.#write(rawText(expr));
    return this.#load(expr.dreg, { ...field, mask: expr.mask });
  }

  #compare(expr: ExprOf<'cmp'>, next: Expr | undefined): boolean {
    const field = this.#registers.get(expr.sreg);
    const text = field && compareText(field, expr);
    if (field === undefined || text === undefined) return this.#write(rawText(expr));
    const range = rangeText(field, expr, next);
    this.#registers.clear();
    // `icmpv6 type` implies the protocol.
    if (this.#protocol !== undefined && field.text === `${this.#protocol} type`) this.#words.splice(-2);
    else
      this.#protocol =
        PROTOCOL_FIELDS.includes(field.text) && expr.op === 'eq' ? field.value(expr.data) : undefined;
    this.#write(field.text, range ?? text);
    return range !== undefined;
  }

  #lookup(expr: ExprOf<'lookup'>): false {
    const fields = this.#fieldsFrom(expr.sreg);
    if (fields.length === 0) return this.#write(rawText(expr));
    this.#registers.clear();
    this.#protocol = undefined;
    const key = fields.map(({ text }) => text).join(' . ');
    if (expr.dreg !== undefined) return this.#load(expr.dreg, mapped(`${key} map @${expr.set}`));
    return this.#write(key, `${expr.vmap ? 'vmap ' : expr.invert ? '!= ' : ''}@${expr.set}`);
  }

  #change(expr: ExprOf<'dynset'>): false {
    const { op, set, sreg, timeoutMs, over } = expr;
    const fields = this.#fieldsFrom(sreg);
    if (fields.length === 0) return this.#write(rawText(expr));
    this.#registers.clear();
    const timeout = timeoutMs === undefined ? '' : ` timeout ${timeText(timeoutMs)}`;
    const limit = over === undefined ? '' : ` ${limitText(over, true)}`;
    return this.#write(`${op} @${set} { ${fields.map(({ text }) => text).join(' . ')}${timeout}${limit} }`);
  }

  /** The address and the port of the destination come out of one map. */
  #redirect(expr: ExprOf<'nat'>): false {
    const to = this.#registers.get(expr.address);
    return this.#write(to === undefined ? rawText(expr) : `${expr.type} to ${to.text}`);
  }

  /** The fields in registers beside one another, which are looked up as one key. */
  #fieldsFrom(register: Register): Loaded[] {
    const field = this.#registers.get(register);
    if (field === undefined) return [];
    return [field, ...this.#fieldsFrom(register + Math.ceil(field.bytes / 4))];
  }
}

function limitText({ perSecond, burst }: Rate, over: boolean): string {
  return `limit rate ${over ? 'over ' : ''}${perSecond}/second burst ${burst} packets`;
}

/** A value from a map: not a field of the packet, and its length is known only from the map. */
function mapped(text: string): Loaded {
  return { text, bytes: 0, value: data => `0x${data}` };
}

function compareText(field: Loaded, { op, data }: ExprOf<'cmp'>): string | undefined {
  if (field.mask === undefined) return `${OPERATOR[op]}${field.value(data)}`;
  if (field.text === 'ct state' || field.text === 'ct status')
    return op === 'neq' && !/[^0]/.test(data) ? field.value(field.mask) : undefined;
  if (field.text === 'ether daddr' || field.text.startsWith('@'))
    return `& ${field.value(field.mask)} ${COMPARISON[op]} ${field.value(data)}`;
  if (field.text === 'tcp flags')
    return `& (${field.value(field.mask)}) ${COMPARISON[op]} ${field.value(data)}`;
  const prefix = addressPrefix(field, field.mask);
  return prefix === undefined ? undefined : `${OPERATOR[op]}${field.value(data)}/${prefix}`;
}

const COMPARISON = { eq: '==', neq: '!=', lt: '<', lte: '<=', gt: '>', gte: '>=' } as const;
const OPERATOR = { eq: '', neq: '!= ', lt: '< ', lte: '<= ', gt: '> ', gte: '>= ' } as const;

/** `1000-2000`, if the next expression compares the same register with the upper end. */
function rangeText(
  field: Loaded,
  { op, sreg, data }: ExprOf<'cmp'>,
  next: Expr | undefined,
): string | undefined {
  if (op !== 'gte' || field.mask !== undefined || next?.kind !== 'cmp') return undefined;
  if (next.op !== 'lte' || next.sreg !== sreg) return undefined;
  return `${field.value(data)}-${field.value(next.data)}`;
}

/** In the style of `nft --debug=netlink`, for expressions that are not part of a match that nft has. */
function rawText(expr: ExprOf<'bitwise' | 'cmp' | 'lookup' | 'nat' | 'dynset'>): string {
  switch (expr.kind) {
    case 'bitwise':
      return `[ bitwise reg ${expr.dreg} = reg ${expr.sreg} & 0x${expr.mask} ^ 0x${expr.xor} ]`;
    case 'cmp':
      return `[ cmp ${expr.op} reg ${expr.sreg} 0x${expr.data} ]`;
    case 'lookup':
      return `[ lookup reg ${expr.sreg} set ${expr.set} ]`;
    case 'dynset':
      return `[ dynset ${expr.op} reg ${expr.sreg} set ${expr.set} ]`;
    case 'nat':
      return `[ nat ${expr.type} ${expr.family} addr reg ${expr.address} proto reg ${expr.port} ]`;
  }
}
