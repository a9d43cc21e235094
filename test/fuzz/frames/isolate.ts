/** Which sequence is behind a hit, and how little of it is enough. */
import { Draws, shrink } from './draws.ts';
import type { Game } from './games.ts';
import type { Sequence } from './packet.ts';
import { sequence } from './sequences.ts';
import type { Hit, Stage } from './stage.ts';

export interface Played {
  /** Of the seed: it draws the same sequence again. */
  readonly turn: number;
  readonly sequence: Sequence;
}

export interface Isolated {
  readonly sequence: Sequence;
  readonly hit: Hit;
}

export interface Isolation {
  readonly stage: Stage;
  readonly game: Game;
  readonly seed: number;
}

/** Undefined for what does not happen again. */
export async function isolate(
  { stage, game, seed }: Isolation,
  played: readonly Played[],
  hit: Hit,
): Promise<Isolated | undefined> {
  const again = async (sequences: readonly Sequence[]): Promise<Hit | undefined> =>
    (await stage.play(game, sequences)).find(each => isAlike(each, hit));
  const found = await fewest(hit.kind === 'heard' ? [played[hit.sequence]!] : [], played, again);
  if (found === undefined) return undefined;
  if (found.length > 1) {
    const together = inRounds(found.map(each => each.sequence));
    const last = await again([together]);
    return last && { sequence: together, hit: last };
  }
  const draws = Draws.ofSeed(seed, found[0]!.turn);
  sequence(draws, game);
  const smallest = await shrink(draws, async fewer => (await again([sequence(fewer, game)])) !== undefined);
  const made = sequence(Draws.of(smallest.taken), game);
  const last = await again([made]);
  return last && { sequence: made, hit: last };
}

function isAlike(a: Hit, b: Hit): boolean {
  return a.kind === b.kind && (a.kind !== 'heard' || b.kind !== 'heard' || a.hearer === b.hearer);
}

/** `needed` by themselves, or with as few of the others as can be found by halves. */
async function fewest(
  needed: readonly Played[],
  all: readonly Played[],
  again: (sequences: readonly Sequence[]) => Promise<Hit | undefined>,
): Promise<readonly Played[] | undefined> {
  const happens = async (some: ReadonlySet<Played>) =>
    (await again(all.filter(each => some.has(each) || needed.includes(each)).map(each => each.sequence))) !==
    undefined;
  if (needed.length > 0 && (await happens(new Set()))) return needed;
  if (!(await happens(new Set(all)))) return undefined;
  let left = all.filter(each => !needed.includes(each));
  for (let parts = 2; left.length > 1 && parts <= 2 * left.length; ) {
    const size = Math.ceil(left.length / parts);
    let fewer: Played[] | undefined;
    for (let at = 0; at < left.length && fewer === undefined; at += size) {
      const without = [...left.slice(0, at), ...left.slice(at + size)];
      if (await happens(new Set(without))) fewer = without;
    }
    if (fewer === undefined && size === 1) break;
    parts = fewer === undefined ? parts * 2 : Math.max(parts - 1, 2);
    left = fewer ?? left;
  }
  return all.filter(each => left.includes(each) || needed.includes(each));
}

/** As they were played: all first frames, then all second ones. */
function inRounds(sequences: readonly Sequence[]): Sequence {
  const longest = Math.max(...sequences.map(({ length }) => length));
  return Array.from({ length: longest }, (_, round) => sequences.flatMap(each => each[round] ?? [])).flat();
}
