/** Plays random sequences until the time or the frames are over; what policy denies and happens is made as small as it can be. */
import { Draws } from './draws.ts';
import { GAMES, type Game } from './games.ts';
import { isolate, type Played } from './isolate.ts';
import type { Sequence } from './packet.ts';
import { misjudged, PLAIN_FLOWS } from './plain.ts';
import { sequence } from './sequences.ts';
import type { Hit, Stage } from './stage.ts';
import { hitText, sequenceText } from './text.ts';

const AT_ONCE = 512;
const MOST_A_BATCH = 4;
const PLAIN_EVERY = 16;

export interface Finding {
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
  readonly onFinding?: (finding: Finding) => void;
  /** How many findings are enough. */
  readonly most?: number;
}

export interface Fuzzed {
  readonly findings: readonly Finding[];
  readonly frames: number;
  readonly sequences: number;
  readonly seconds: number;
  /** Hits that did not happen again when they were looked into. */
  readonly unsteady: readonly string[];
  /** Of plain packets that were sent between them, those of which the agent says something else than what happened. */
  readonly misjudged: readonly string[];
  readonly judged: number;
}

export async function fuzz(stage: Stage, options: FuzzOptions): Promise<Fuzzed> {
  const {
    seed,
    seconds = Number.POSITIVE_INFINITY,
    frames = Number.POSITIVE_INFINITY,
    most = 20,
    onFinding,
  } = options;
  const begun = performance.now();
  const passed = () => (performance.now() - begun) / 1000;
  const findings: Finding[] = [];
  const shown = new Set<string>();
  const wrong: string[] = [];
  const unsteady: string[] = [];
  let [turn, sequences, judged] = [0, 0, 0];
  for (let batch = 0; passed() < seconds && stage.sent < frames && findings.length < most; batch++) {
    const game = GAMES[batch % GAMES.length]!;
    const played: Played[] = [];
    while (played.length < AT_ONCE) {
      played.push({ turn, sequence: sequence(Draws.ofSeed(seed, turn), game) });
      turn++;
    }
    sequences += played.length;
    if (batch % PLAIN_EVERY === 0) {
      wrong.push(...(await misjudged(stage, Draws.ofSeed(~seed, batch))));
      judged += PLAIN_FLOWS;
    }
    const hits = await stage.play(
      game,
      played.map(each => each.sequence),
    );
    const isolation = { stage, game, seed };
    for (let looked = 0, left = hits; left.length > 0 && looked < MOST_A_BATCH; looked++) {
      const hit = left[0]!;
      const finding = await isolate(isolation, played, hit);
      left = left.slice(1);
      if (finding === undefined) {
        unsteady.push(unsteadyText(hit, played));
        continue;
      }
      const whole = { ...finding, game, seconds: passed(), frames: stage.sent };
      const text = `${sequenceText(finding.sequence)}${finding.hit.kind}`;
      if (!shown.has(text)) {
        shown.add(text);
        findings.push(whole);
        onFinding?.(whole);
      }
    }
  }
  return { findings, frames: stage.sent, sequences, seconds: passed(), unsteady, misjudged: wrong, judged };
}

function unsteadyText(hit: Hit, played: readonly Played[]): string {
  const made = hit.kind === 'heard' ? played[hit.sequence]!.sequence : [];
  return `${sequenceText(made)}  => ${hitText(hit, made)}`;
}
