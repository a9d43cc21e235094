/** What a rule by name allowed outlives the agent and its restarts, and ends with the policy that stops allowing it. */
import { expect, test } from 'vitest';
import { policyText, SLOW } from '../../support/names/ground.ts';
import { runs } from '../../support/seed.ts';
import { hearingGround } from './hearingground.ts';

const KILLS = runs(5, 2);

const ground = hearingGround();

test(
  `killed ${KILLS} times: DNS goes on, what stands stays, and every agent hears again`,
  async () => {
    expect((await ground.visit({ names: ['n1.t.example'] })).connected).toHaveLength(1);
    const kept = ground.keep('10.98.0.1');
    for (let kill = 0; kill < KILLS; kill++) {
      await ground.agent!.kill();
      const away = await ground.visit({
        names: [`n${100 + kill}.t.example`, '10.98.0.1'],
        attempts: 2,
        answerMs: 1_000,
        patienceMs: 300,
      });
      expect(away).toMatchObject({
        unanswered: 0,
        connected: ['10.98.0.1'],
        failed: [`n${100 + kill}.t.example`],
      });
      await ground.startAgent();
      await ground.readingAnswers();
      // Told again: what was taken over ends with its ten minutes, and a slow machine may take longer for all rounds.
      const back = await ground.visit({ names: [`n${200 + kill}.t.example`, '10.98.0.1', 'n1.t.example'] });
      expect(back).toMatchObject({ unanswered: 0, failed: [], lost: 0 });
    }
    await kept.goesOn();
    for (let kill = 0; kill < KILLS; kill++) expect(ground.isLearnt(`10.98.0.${200 + kill}`)).toBe(true);
  },
  600_000 * SLOW,
);

test(
  'an agent that is stopped costs DNS the switch, and one that ends properly nothing',
  async () => {
    process.kill(ground.agent!.pid, 'SIGSTOP');
    const stopped = await ground.visit({
      names: ['n301.t.example'],
      attempts: 4,
      answerMs: 1_500,
      patienceMs: 200,
    });
    expect(stopped.unanswered).toBe(0);
    process.kill(ground.agent!.pid, 'SIGCONT');
    await ground.readingAnswers();
    expect((await ground.visit({ names: ['n302.t.example'] })).connected).toHaveLength(1);
    await ground.agent!.kill('SIGTERM');
    const ended = await ground.visit({ names: ['n303.t.example'], patienceMs: 200 });
    expect(ended).toMatchObject({ unanswered: 0, failed: ['n303.t.example'] });
    await ground.startAgent();
    await ground.readingAnswers();
  },
  300_000 * SLOW,
);

test(
  'C58: a connection outlives other edits, and the policy that stops allowing its name cuts it',
  async () => {
    expect((await ground.visit({ names: ['n401.t.example'] })).connected).toHaveLength(1);
    const kept = ground.keep('10.98.1.145');
    await kept.goesOn();
    const allowed = policyText(['*.t.example']);
    ground.write('policy.yaml', allowed.replace('networks: [', "networks: ['192.0.2.9/32', "));
    await ground.agent!.inForce(2);
    await ground.scannedAtStart();
    await ground.scannedAfter(() => {
      ground.write('policy.yaml', allowed); // allows less: all connections of the pod are looked at
      return ground.agent!.inForce(3);
    });
    await kept.goesOn();
    // Not even for a moment: the rules would let it go on from the middle.
    expect(ground.agent!.output).not.toContain('"cut"');
    ground.write('policy.yaml', policyText(['*.other.example']));
    await ground.agent!.inForce(4);
    await kept.hangs();
    expect((await ground.visit({ names: ['10.98.1.145'], patienceMs: 200 })).connected).toEqual([]);
  },
  300_000 * SLOW,
);
