/** The outcome of the packets of a board. */

import { CommandError } from '../../src/terminal/commanderror.ts';
import type { Lab } from '../lab/lab.ts';
import { ProbeError } from '../lab/probe/attempt.ts';
import { type ProbeOutcome, probe } from '../lab/probe/probe.ts';
import type { Board, Try } from './board.ts';

export interface Outcomes {
  readonly board: Board;
  /** The outcomes, in the order of the board's tries. */
  readonly observed: readonly ProbeOutcome[];
}

const QUIET_MS = 250;
const LATE_MS = 1500;

/** Throws CommandError if something other than policy blocks packets: a person may have changed what the demo made. */
export async function observe(lab: Lab, board: Board): Promise<Outcomes> {
  return tryBoard(lab, board).catch(error => {
    if (!(error instanceof ProbeError)) throw error;
    throw new CommandError(
      `${error.message}; nothing can be said of policy so: end what you started in the demo's namespaces, or start anew (--remove, then --keep)`,
    );
  });
}

/** A flow that should be open gets a second, longer chance: a busy machine is slow, but it opens nothing. */
async function tryBoard(lab: Lab, board: Board): Promise<Outcomes> {
  const observed = await probe(
    lab,
    board.tries.map(one => one.probe),
    { quietMs: QUIET_MS },
  );
  const late = [...board.tries.keys()].filter(
    index => board.tries[index]!.expected.verdict === 'allow' && observed[index] === 'closed',
  );
  const again = await probe(
    lab,
    late.map(index => board.tries[index]!.probe),
    { quietMs: LATE_MS },
  );
  for (const [at, index] of late.entries()) observed[index] = again[at]!;
  return { board, observed };
}

export interface Wrong {
  readonly try: Try;
  readonly observed: ProbeOutcome;
}

/** The tries whose packets did not do what policy demands. */
export function wrongOnes({ board, observed }: Outcomes): Wrong[] {
  return board.tries.flatMap((one, index) =>
    isRight(one, observed[index]!) ? [] : [{ try: one, observed: observed[index]! }],
  );
}

export function isRight({ expected }: Try, observed: ProbeOutcome): boolean {
  return (expected.verdict === 'allow') === (observed === 'open');
}

/** Names a try the same on two boards. */
function tryKey({ row, column, protocol, family }: Try): string {
  return `${row.label} ${column.heading.join('')} ${protocol} ${family}`;
}

/** The tries whose outcome is another one than before. */
export function changedTries(before: Outcomes, after: Outcomes): Try[] {
  const old = new Map(before.board.tries.map((one, index) => [tryKey(one), before.observed[index]]));
  return after.board.tries.filter((one, index) => {
    const was = old.get(tryKey(one));
    return was !== undefined && was !== after.observed[index];
  });
}
