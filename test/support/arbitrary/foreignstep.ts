/** Operations that no plan made, mostly on existing objects. */
import fc from 'fast-check';
import { MAX_KEY_BYTES } from '../../../src/nft/limits.ts';
import type { Op } from '../../../src/nft/plan/op.ts';
import {
  type ElementKey,
  MEMBER,
  type NftSet,
  type NftVerdict,
  type Ruleset,
  type SetSpec,
} from '../../../src/nft/ruleset.ts';
import { elementKey } from './rulesets.ts';

/** Numbers choose among what there is; one more than there is chooses what is not. */
export interface Pick {
  readonly op: Op['op'];
  readonly chain: number;
  readonly target: number;
  readonly set: number;
  readonly verdict: NftVerdict['kind'];
  readonly lookup: boolean;
  readonly vmap: boolean;
  readonly invert: boolean;
  /** Elements with a verdict where there should be none, or the other way round. */
  readonly misfit: boolean;
  readonly elements: readonly number[];
  readonly size: number;
}

export const pickArbitrary: fc.Arbitrary<Pick> = fc.record({
  op: fc.constantFrom<Op['op'][]>(
    'addTable',
    'delTable',
    'addSet',
    'delSet',
    'delSet',
    'addChain',
    'delChain',
    'delChain',
    'flushChain',
    'addRule',
    'addRule',
    'addElements',
    'addElements',
    'delElements',
  ),
  chain: fc.nat(60),
  target: fc.nat(60),
  set: fc.nat(60),
  verdict: fc.constantFrom('accept', 'drop', 'jump', 'jump', 'goto'),
  lookup: fc.boolean(),
  vmap: fc.boolean(),
  invert: fc.nat(3).map(n => n === 0),
  misfit: fc.nat(3).map(n => n === 0),
  elements: fc.array(fc.nat(10), { minLength: 1, maxLength: 3 }),
  size: fc.constantFrom(1, 3, 1024),
});

const ABSENT: SetSpec = { name: 'absent', key: ['ipv4_addr'], verdicts: false, interval: false };

export function foreignStep(pick: Pick, { tables }: Ruleset): Op {
  const [family, table] = [...tables][pick.set % (tables.size || 1)] ?? ['ip' as const, undefined];
  const chains = [...(table?.chains.keys() ?? []), 'absent'];
  const specs = [...Array.from(table?.sets.values() ?? [], specOf), ABSENT];
  const [chain, target] = [chains[pick.chain % chains.length]!, chains[pick.target % chains.length]!];
  const set = specs[pick.set % specs.length]!;
  const verdict = verdictOf(pick, target);
  switch (pick.op) {
    case 'addTable':
    case 'delTable':
      return { op: pick.op, family };
    case 'addSet':
      return { op: pick.op, family, set, size: pick.size };
    case 'delSet':
      return { op: pick.op, family, set: set.name };
    case 'addChain':
      return pick.lookup
        ? { op: pick.op, family, chain }
        : { op: pick.op, family, chain, hook: { hook: 'input', priority: 3, policy: 'accept' } };
    case 'delChain':
    case 'flushChain':
      return { op: pick.op, family, chain };
    case 'addRule':
      return {
        op: pick.op,
        family,
        chain,
        rule: { exprs: pick.lookup ? lookup(pick, set.name) : [{ kind: 'verdict', verdict }] },
      };
    case 'addElements': {
      const value = set.verdicts === pick.misfit ? MEMBER : { verdict };
      return { op: pick.op, family, set, elements: pick.elements.map(index => [keyOf(set, index), value]) };
    }
    case 'delElements':
      return { op: pick.op, family, set, keys: pick.elements.map(index => keyOf(set, index)) };
  }
}

function specOf({ elements: _, size: __, ...spec }: NftSet): SetSpec {
  return spec;
}

function verdictOf({ verdict: kind }: Pick, chain: string): NftVerdict {
  return kind === 'jump' || kind === 'goto' ? { kind, chain } : { kind };
}

/** Loads as many bytes as any key has: the kernel refuses a lookup of a register that no expression has loaded. */
function lookup({ vmap, invert }: Pick, set: string) {
  return [
    { kind: 'payload' as const, base: 'network' as const, offset: 0, length: MAX_KEY_BYTES, dreg: 0 },
    { kind: 'lookup' as const, set, sreg: 0, vmap, invert },
  ];
}

/** Keys, of which some are networks that overlap those of the rulesets. */
function keyOf(spec: SetSpec, index: number): ElementKey {
  if (spec.interval && spec.key[0] === 'ipv4_addr' && index > 7)
    return ['1.0.0.0/23', '1.0.0.128-1.1.0.3', '1.2.0.1-1.2.0.2'][index - 8]!;
  return elementKey(spec, index);
}
