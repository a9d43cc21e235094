/**
 * Whether two parts of a ruleset are equal for the kernel. The same JavaScript object is equal without a look at its
 * content, so that a plan between two rulesets that share most of their parts is cheap.
 */
import type {
  Chain,
  Elements,
  ElementValue,
  Expr,
  FieldType,
  NftRule,
  NftSet,
  NftVerdict,
  SetSpec,
} from '../ruleset.ts';

/** A different reserved size is not a difference. */
export function setsEqual(a: NftSet, b: NftSet): boolean {
  return a === b || (specsEqual(a, b) && elementsEqual(a.elements, b.elements));
}

export function specsEqual(a: SetSpec, b: SetSpec): boolean {
  return (
    a === b ||
    (a.name === b.name &&
      a.verdicts === b.verdicts &&
      a.interval === b.interval &&
      a.comment === b.comment &&
      dynamicsEqual(a.dynamic, b.dynamic) &&
      listsEqual(a.key, b.key, Object.is) &&
      listsEqual(a.data ?? NO_DATA, b.data ?? NO_DATA, Object.is))
  );
}

function dynamicsEqual(a: SetSpec['dynamic'], b: SetSpec['dynamic']): boolean {
  return a === b || (a !== undefined && a.size === b?.size && a.timeoutMs === b.timeoutMs);
}

const NO_DATA: readonly FieldType[] = [];

export function elementsEqual(a: Elements, b: Elements): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !valuesEqual(value, other)) return false;
  }
  return true;
}

export function valuesEqual(a: ElementValue, b: ElementValue): boolean {
  return a === b || (a.comment === b.comment && a.data === b.data && verdictsEqual(a.verdict, b.verdict));
}

export function chainsEqual(a: Chain, b: Chain): boolean {
  return a === b || (a.name === b.name && hooksEqual(a, b) && rulesEqual(a.rules, b.rules));
}

export function hooksEqual({ hook: a }: Chain, { hook: b }: Chain): boolean {
  if (a === b) return true;
  return a?.type === b?.type && a?.hook === b?.hook && a?.priority === b?.priority && a?.policy === b?.policy;
}

export function rulesEqual(a: readonly NftRule[], b: readonly NftRule[]): boolean {
  return listsEqual(a, b, ruleEqual);
}

export function ruleEqual(a: NftRule, b: NftRule): boolean {
  return a === b || (a.comment === b.comment && listsEqual(a.exprs, b.exprs, exprEqual));
}

function exprEqual(a: Expr, b: Expr): boolean {
  if (a === b) return true;
  switch (a.kind) {
    case 'meta':
      return b.kind === 'meta' && a.key === b.key && a.dreg === b.dreg;
    case 'ct':
      return b.kind === 'ct' && a.key === b.key && a.dreg === b.dreg;
    case 'fib':
      return (
        b.kind === 'fib' &&
        a.result === b.result &&
        a.dreg === b.dreg &&
        listsEqual(a.flags, b.flags, Object.is)
      );
    case 'exthdr':
      return b.kind === 'exthdr' && a.type === b.type && a.dreg === b.dreg;
    case 'payload':
      return (
        b.kind === 'payload' &&
        a.base === b.base &&
        a.offset === b.offset &&
        a.length === b.length &&
        a.dreg === b.dreg
      );
    case 'bitwise':
      return (
        b.kind === 'bitwise' && a.sreg === b.sreg && a.dreg === b.dreg && a.mask === b.mask && a.xor === b.xor
      );
    case 'cmp':
      return b.kind === 'cmp' && a.sreg === b.sreg && a.op === b.op && a.data === b.data;
    case 'lookup':
      return (
        b.kind === 'lookup' &&
        a.set === b.set &&
        a.sreg === b.sreg &&
        a.vmap === b.vmap &&
        a.invert === b.invert &&
        a.dreg === b.dreg
      );
    case 'nat':
      return (
        b.kind === 'nat' &&
        a.type === b.type &&
        a.family === b.family &&
        a.address === b.address &&
        a.port === b.port
      );
    case 'masq':
    case 'counter':
    case 'last':
      return b.kind === a.kind;
    case 'dynset':
      return b.kind === 'dynset' && dynsetsEqual(a, b);
    case 'log':
      return b.kind === 'log' && a.group === b.group && a.prefix === b.prefix && a.snaplen === b.snaplen;
    case 'limit':
      return b.kind === 'limit' && a.perSecond === b.perSecond && a.burst === b.burst && a.over === b.over;
    case 'queue':
      return b.kind === 'queue' && a.number === b.number && a.by === b.by;
    case 'verdict':
      return b.kind === 'verdict' && verdictsEqual(a.verdict, b.verdict);
    case 'unknown':
      return false; // The content of such an expression is not known: two with the same name may differ.
  }
}

function dynsetsEqual(a: Expr & { kind: 'dynset' }, b: Expr & { kind: 'dynset' }): boolean {
  return (
    a.op === b.op &&
    a.set === b.set &&
    a.sreg === b.sreg &&
    a.timeoutMs === b.timeoutMs &&
    a.over?.perSecond === b.over?.perSecond &&
    a.over?.burst === b.over?.burst
  );
}

export function verdictsEqual(a: NftVerdict | undefined, b: NftVerdict | undefined): boolean {
  return a === b || (a?.kind === b?.kind && targetOf(a) === targetOf(b));
}

/** The chain that a verdict leads to. */
export function targetOf(verdict: NftVerdict | undefined): string | undefined {
  return verdict !== undefined && 'chain' in verdict ? verdict.chain : undefined;
}

function listsEqual<T>(a: readonly T[], b: readonly T[], equal: (a: T, b: T) => boolean): boolean {
  return a === b || (a.length === b.length && a.every((item, i) => equal(item, b[i]!)));
}
