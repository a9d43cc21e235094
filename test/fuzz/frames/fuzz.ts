/** Plays random sequences until the time or the frames are over; what policy denies and happens is made as small as it can be. */
import { Draws, shrink } from './draws.ts';
import { GAMES, type Game } from './games.ts';
import { sequence } from './generate.ts';
import { KNOWN, type Known } from './known.ts';
import type { Sequence } from './packet.ts';
import type { Hit, Stage } from './stage.ts';
import { sequenceText } from './text.ts';

const AT_ONCE = 512;
const MOST_A_BATCH = 4;

export interface Finding {
  /** Of a way that is known, or undefined. */
  readonly name: string | undefined;
  readonly game: Game;
  readonly sequence: Sequence;
  readonly hit: Hit;
  readonly seconds: number;
  readonly frames: number;
}

export interface FuzzOptions {
  readonly seed: number;
  readonly seconds?: number;
  readonly frames?: number;
  /** Ways that are not tried. */
  readonly without?: readonly Known[];
  readonly onFinding?: (finding: Finding) => void;
  /** How many unknown findings are enough. */
  readonly most?: number;
}

export interface Fuzzed {
  readonly findings: readonly Finding[];
  readonly frames: number;
  readonly sequences: number;
  readonly seconds: number;
  /** Hits that did not happen again when they were looked into. */
  readonly unsteady: number;
}

interface Played {
  readonly turn: number;
  readonly sequence: Sequence;
}

export async function fuzz(stage: Stage, options: FuzzOptions): Promise<Fuzzed> {
  const {
    seed,
    seconds = Number.POSITIVE_INFINITY,
    frames = Number.POSITIVE_INFINITY,
    most = 20,
    onFinding,
  } = options;
  const { wiring } = stage.ground;
  const begun = performance.now();
  const passed = () => (performance.now() - begun) / 1000;
  const findings: Finding[] = [];
  const shown = new Set<string>();
  const skipped = [...(options.without ?? [])];
  let [turn, unsteady, sequences] = [0, 0, 0];
  stage.forget();
  for (
    let batch = 0;
    passed() < seconds &&
    stage.sent < frames &&
    findings.filter(({ name }) => name === undefined).length < most;
    batch++
  ) {
    const game = GAMES[batch % GAMES.length]!;
    const played: Played[] = [];
    while (played.length < AT_ONCE) {
      const made = { turn, sequence: sequence(Draws.ofSeed(seed, turn), game) };
      turn++;
      if (!skipped.some(known => known.matches(made.sequence, wiring))) played.push(made);
    }
    sequences += played.length;
    const hits = await stage.play(
      game,
      played.map(each => each.sequence),
    );
    for (let looked = 0, left = hits; left.length > 0 && looked < MOST_A_BATCH; looked++) {
      const finding = await isolate(stage, game, seed, played, left[0]!);
      left = left.slice(1);
      if (finding === undefined) {
        unsteady++;
        continue;
      }
      const known = KNOWN.find(each => each.matches(finding.sequence, wiring));
      const whole = { ...finding, name: known?.name, game, seconds: passed(), frames: stage.sent };
      const text = `${sequenceText(finding.sequence)}${finding.hit.kind}`;
      if (!shown.has(text)) {
        shown.add(text);
        findings.push(whole);
        onFinding?.(whole);
      }
      if (known === undefined) continue;
      skipped.push(known);
      const isLeft = ({ sequence: each }: Played) => !known.matches(each, wiring);
      left = left.filter(hit => (hit.kind === 'heard' ? isLeft(played[hit.sequence]!) : false));
    }
  }
  return { findings, frames: stage.sent, sequences, seconds: passed(), unsteady };
}

type Isolated = Pick<Finding, 'sequence' | 'hit'>;

/** The one sequence behind a hit, alone and as small as it can be. */
async function isolate(
  stage: Stage,
  game: Game,
  seed: number,
  played: readonly Played[],
  hit: Hit,
): Promise<Isolated | undefined> {
  const again = async (sequences: readonly Sequence[]) =>
    (await stage.play(game, sequences)).find(each => isAlike(each, hit));
  const found =
    hit.kind === 'heard'
      ? played[hit.sequence]!
      : await bisect(played, each => again(each.map(one => one.sequence)));
  if (found === undefined || !(await again([found.sequence]))) return undefined;
  const draws = Draws.ofSeed(seed, found.turn);
  sequence(draws, game);
  const smallest = await shrink(draws, async fewer => (await again([sequence(fewer, game)])) !== undefined);
  const made = sequence(Draws.of(smallest.taken), game);
  const last = await again([made]);
  return last && { sequence: made, hit: last };
}

function isAlike(a: Hit, b: Hit): boolean {
  return a.kind === b.kind && (a.kind !== 'heard' || b.kind !== 'heard' || a.hearer === b.hearer);
}

async function bisect(
  played: readonly Played[],
  fails: (some: readonly Played[]) => Promise<unknown>,
): Promise<Played | undefined> {
  let left = played;
  while (left.length > 1) {
    const half = left.length >> 1;
    const parts = [left.slice(0, half), left.slice(half)];
    let next: readonly Played[] | undefined;
    for (const part of parts) if (next === undefined && (await fails(part))) next = part;
    if (next === undefined) return undefined;
    left = next;
  }
  return left[0];
}
