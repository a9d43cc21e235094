/** A step as it is, but larger: around the limits of src/nft/limits.ts, on both sides. */
import type { Op } from '../../../src/nft/plan/op.ts';
import type { Expr, NftRule } from '../../../src/nft/ruleset.ts';

/** The operation with `size` expressions, or bytes of comment or of name; at least one. */
export function enlarged(op: Op, size: number, what: 'text' | 'content'): Op {
  const comment = 'c'.repeat(size);
  switch (op.op) {
    case 'addRule':
      return { ...op, rule: what === 'text' ? { ...op.rule, comment } : longRule(op.rule, size) };
    case 'addSet':
      return what === 'text'
        ? { ...op, set: { ...op.set, comment } }
        : { ...op, set: { ...op.set, name: long(op.set.name, size) } };
    case 'addChain':
    case 'delChain':
    case 'flushChain':
      return { ...op, chain: long(op.chain, size) };
    case 'addElements':
      return { ...op, elements: op.elements.map(([key, value]) => [key, { ...value, comment }]) };
    default:
      return op;
  }
}

/** The loads of the rule, its last condition repeated, and then the verdict. */
function longRule(rule: NftRule, size: number): NftRule {
  const verdicts = rule.exprs.filter(({ kind }) => kind === 'verdict');
  const conditions = rule.exprs.filter(({ kind }) => kind !== 'verdict');
  const last = conditions.at(-1);
  if (last === undefined) return rule;
  const repeated = Array.from({ length: Math.max(1, size - conditions.length) }, (): Expr => last);
  return { ...rule, exprs: [...conditions.slice(0, -1), ...repeated, ...verdicts] };
}

function long(name: string, size: number): string {
  return name.padEnd(size, 'x');
}
