/**
 * Sequences of raw frames by whom policy denies (test/fuzz/frames): what is found of them is what is known, and no more.
 * `npm run fuzz:frames` tries as many as there is time for.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fuzz } from '../../fuzz/frames/fuzz.ts';
import { FrameGround } from '../../fuzz/frames/ground.ts';
import { knownOn } from '../../fuzz/frames/known.ts';
import { WIRINGS } from '../../fuzz/frames/network.ts';
import { Stage } from '../../fuzz/frames/stage.ts';
import { hitText, sequenceText } from '../../fuzz/frames/text.ts';
import { SEED } from '../../support/seed.ts';

const FRAMES = 100_000;

describe.each(WIRINGS)('%s', wiring => {
  let ground: FrameGround;
  let stage: Stage;

  beforeAll(async () => {
    ground = await FrameGround.build({ wiring });
    stage = await Stage.open(ground);
  });

  afterAll(() => {
    stage?.close();
    ground?.remove();
  });

  test(`of ${FRAMES} frames none is heard by whom policy denies it, nor tracked (seed ${SEED})`, async () => {
    const { findings, unsteady, misjudged, judged } = await fuzz(stage, { seed: SEED, frames: FRAMES });
    const unknown = findings.filter(({ name }) => name === undefined);
    expect(unknown.map(({ sequence, hit }) => sequenceText(sequence) + hitText(hit, sequence))).toEqual([]);
    // One that is not found any more is closed: its entry goes.
    const found = new Set(findings.map(({ name }) => name));
    expect([...found].sort()).toEqual(
      knownOn(wiring)
        .map(({ name }) => name)
        .sort(),
    );
    expect(unsteady, 'hits that did not happen again').toEqual([]);
    expect(misjudged).toEqual([]);
    expect(judged).toBeGreaterThan(100);
  });
});
