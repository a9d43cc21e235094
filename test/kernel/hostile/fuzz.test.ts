/**
 * Sequences of raw frames by whom policy denies (test/fuzz/frames): nothing is found of them.
 * `npm run fuzz:frames` tries as many as there is time for.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fuzz } from '../../fuzz/frames/fuzz.ts';
import { FrameGround } from '../../fuzz/frames/ground.ts';
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
    expect(findings.map(({ sequence, hit }) => sequenceText(sequence) + hitText(hit, sequence))).toEqual([]);
    expect(unsteady, 'hits that did not happen again').toEqual([]);
    expect(misjudged).toEqual([]);
    expect(judged).toBeGreaterThan(100);
  });
});
