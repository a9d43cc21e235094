/** Batches that a kernel should mostly take, and now and then refuse: plans, and plans with a fault in them. */
import fc from 'fast-check';
import type { Op } from '../../../src/nft/plan/op.ts';
import { applied, plan } from '../../../src/nft/plan/plan.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';
import { NOTHING } from '../oracle/transitions.ts';
import { enlarged } from './enlarged.ts';
import { foreignStep, type Pick, pickArbitrary } from './foreignstep.ts';
import { rulesetsArbitrary } from './rulesets.ts';

export function batchesArbitrary(): fc.Arbitrary<Op[][]> {
  const room = fc.option(fc.integer({ min: 1, max: 8 }), { freq: 3 });
  return fc
    .tuple(rulesetsArbitrary(1), fc.array(fault, { minLength: 1, maxLength: 4 }), room)
    .map(([rulesets, faults, room]) =>
      rulesets.flatMap((ruleset, i) => {
        const ops = plan(i === 0 ? NOTHING : applied(NOTHING, rulesets[i - 1]!), ruleset);
        const planned = room === null ? ops : withRoom(ops, room);
        const here = faults.filter(({ batch }) => batch % rulesets.length === i);
        return [
          ...here.filter(isBefore).map(broken(planned, ruleset)),
          planned,
          ...here.filter(isAfter).map(broken([], ruleset)),
        ];
      }),
    );
}

/** Too little of it. */
function withRoom(ops: readonly Op[], size: number): Op[] {
  return ops.map(op => (op.op === 'addSet' ? { ...op, size } : op));
}

interface Fault {
  readonly batch: number;
  /** In the planned batch, which is tried before it is tried as it is; or `alone`, after it. */
  readonly kind: 'omit' | 'double' | 'swap' | 'insert' | 'append' | 'enlarge' | 'alone';
  readonly at: number;
  readonly to: number;
  readonly pick: Pick;
  /** The number of entries of an enlarged object. */
  readonly size: number;
  readonly what: 'text' | 'content';
}

const fault: fc.Arbitrary<Fault> = fc.record({
  batch: fc.nat(5),
  kind: fc.constantFrom<Fault['kind'][]>(
    'omit',
    'double',
    'swap',
    'insert',
    'append',
    'enlarge',
    'enlarge',
    'alone',
    'alone',
    'alone',
  ),
  at: fc.nat(40),
  to: fc.nat(40),
  pick: pickArbitrary,
  size: fc.oneof(
    fc.integer({ min: 1, max: 300 }),
    fc.constantFrom(90, 100, 110, 120, 126, 127, 128, 129, 254, 255, 256),
  ),
  what: fc.constantFrom('text', 'content'),
});

const isAfter = ({ kind }: Fault) => kind === 'alone';
const isBefore = (fault: Fault) => !isAfter(fault);

const broken =
  (planned: readonly Op[], ruleset: Ruleset) =>
  ({ kind, at, to, pick, size, what }: Fault): Op[] => {
    const ops = [...planned];
    const [i, j] = [at % (ops.length || 1), to % (ops.length || 1)];
    if (kind === 'omit') ops.splice(i, 1);
    else if (kind === 'double' && ops.length > 0) ops.splice(j, 0, ops[i]!);
    else if (kind === 'swap' && ops.length > 0) [ops[i], ops[j]] = [ops[j]!, ops[i]!];
    else if (kind === 'enlarge') ops.splice(0, ops.length, ...withEnlarged(ops, at, size, what));
    else ops.splice(kind === 'insert' ? i : ops.length, 0, foreignStep(pick, ruleset));
    return ops;
  };

/** Content is a rule's where there is one: it has two limits, and the second is hard to meet. */
function withEnlarged(ops: readonly Op[], at: number, size: number, what: Fault['what']): Op[] {
  const rules = ops.filter(({ op }) => op === 'addRule');
  const among = what === 'content' && rules.length > 0 ? rules : ops;
  const chosen = among[at % among.length];
  return ops.map(op => (op === chosen ? enlarged(op, size, what) : op));
}
