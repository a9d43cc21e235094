/**
 * Agents that follow one another with names in force, while pods ask and connect: from rules without names, from a layout
 * with them, and back to each. DNS is answered all the time, and what was told is taken over.
 */
import { afterEach, expect, test } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { KernelState } from '../../../src/agent/kernelstate.ts';
import { compile } from '../../../src/compiler/compile.ts';
import { LAYOUT } from '../../../src/compiler/layout.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';
import {
  encodeLayout,
  layoutCluster,
  NAMES_LAYOUT_FOLDER,
  orphaned,
  putUp,
  recordedLayouts,
  rulesetOf,
} from '../../support/agent/layouts.ts';
import { NamesGround, SLOW } from '../../support/names/ground.ts';
import { runs } from '../../support/seed.ts';

const ROUNDS = runs(3, 2);
const [NAMES] = recordedLayouts(NAMES_LAYOUT_FOLDER);
const LAYOUTS = [
  ['rules without names', encodeLayout(LAYOUT, 'without names', withoutNames())],
  ['rules with names', NAMES!],
] as const;

/** Of an agent that hears no answers of DNS. */
function withoutNames(): Ruleset {
  const state = layoutCluster(NAMES_LAYOUT_FOLDER);
  return compile(state, 'n1');
}

let ground: NamesGround | undefined;
afterEach(() => ground?.remove());

const openKernel = () => inNamespace(ground!.nodePath, () => openNftKernel());

/** An agent of that layout has come, has made its rules, and has ended. */
async function wentBack(desired: Ruleset): Promise<void> {
  const kernel = await openKernel();
  const state = new KernelState({
    open: async () => kernel,
    onDrift: () => {},
    now: () => performance.now(),
  });
  await state.reconcile(() => desired, 'dump');
  state.close();
  await orphaned(openKernel);
}

const names = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `n${from + i}.t.example`);

test.each(LAYOUTS)(
  'from %s to ours with names in force, and back',
  async (_, layout) => {
    ground = await new NamesGround().build();
    ground.writeManifests('*.t.example');
    const theirs = await rulesetOf(layout);
    const hadNames = [...theirs.tables.get('ip')!.sets.keys()].includes('names-pods');
    inNamespace(ground.nodePath, () => putUp(layout))();
    await orphaned(openKernel);
    const asking = ground.visit({
      names: names(2_000, 40 * ROUNDS),
      patienceMs: 100,
      pauseMs: 100 * SLOW,
      attempts: 2,
      answerMs: 2_500 * SLOW,
    });
    for (let round = 0; round < ROUNDS; round++) {
      await ground.startAgent();
      await ground.readingAnswers();
      const fresh = names(1 + 20 * round, 20);
      expect(await ground.visit({ names: fresh })).toMatchObject({ failed: [], lost: 0, unanswered: 0 });
      const before = ground.elements();
      await ground.agent!.kill(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
      await wentBack(theirs);
      if (hadNames) expect(ground.elements()).toEqual(expect.arrayContaining(before));
      const away = await ground.visit({
        names: [`n${1_000 + round}.t.example`],
        patienceMs: 300,
        attempts: 2,
      });
      expect(away).toMatchObject({ unanswered: 0, connected: [] });
    }
    expect((await asking).unanswered).toBe(0);
  },
  300_000 * SLOW,
);

test(
  'an agent that follows ours takes over what was told, and connections by it live',
  async () => {
    ground = await new NamesGround().build();
    ground.writeManifests('*.t.example');
    inNamespace(ground.nodePath, () => putUp(NAMES!))();
    await orphaned(openKernel);
    // As the agent of that time was told it.
    const [set] = /names-[0-9A-Z]{26}/.exec(ground.exec(ground.nodePath, 'nft', 'list', 'sets', 'ip'))!;
    const element = '{ 10.1.0.10 . 10.98.0.1 timeout 10m }';
    ground.exec(ground.nodePath, 'nft', 'add', 'element', 'ip', 'sluice', set!, element);
    const kept = ground.keep('10.98.0.1');
    await kept.goesOn();
    await ground.startAgent();
    await ground.readingAnswers();
    await ground.scannedAtStart();
    await kept.goesOn();
    expect((await ground.visit({ names: ['10.98.0.1'] })).connected).toEqual(['10.98.0.1']);
  },
  300_000 * SLOW,
);
