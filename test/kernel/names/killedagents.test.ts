/** Agents that are killed while pods ask for fresh names and connect at once: what was away is what is missed, no more. */
import { expect, test } from 'vitest';
import { RESOLVER, SLOW } from '../../support/names/ground.ts';
import { runs } from '../../support/seed.ts';
import { hearingGround } from './hearingground.ts';

const KILLS = runs(20, 5);
const NAMES = runs(500, 130);

const ground = hearingGround();

test(
  `killed ${KILLS} times during ${2 * NAMES} fresh names in both families: none is lost`,
  async () => {
    const away: Period[] = [];
    const names = (from: number) => Array.from({ length: NAMES }, (_, i) => `n${from + i}.t.example`);
    const common = { answerMs: 2_000, attempts: 5, rounds: 200, patienceMs: 400, pauseMs: 40 };
    const visits = Promise.all([
      ground.visit({ ...common, names: names(1) }),
      ground.visit({ ...common, names: names(2_000), type: 'AAAA', resolver: RESOLVER.ip6 }),
    ]);
    for (let kill = 0; kill < KILLS; kill++) {
      // Some answers have come to it, each time others.
      const seen = ground.answersSeen;
      await ground.until(() => ground.answersSeen > seen + 3 + (kill % 5));
      const fromMs = Date.now();
      await ground.agent!.kill();
      await ground.startAgent();
      await ground.readingAnswers();
      away.push({ fromMs, toMs: Date.now() });
    }
    for (const { asked, unanswered, repeated, connected, failed, misses } of await visits) {
      expect({ failed, connected: connected.length }).toEqual({ failed: [], connected: NAMES });
      // Whoever asked while an agent was there was connected at once; and an agent is there again soon.
      expect(misses.filter(miss => !away.some(overlaps(miss)))).toEqual([]);
      // In the queue of an agent that is killed is one question of each pod's program at most; asked again, it is answered.
      expect(unanswered).toBe(0);
      expect(repeated.filter(question => !away.some(overlaps(question)))).toEqual([]);
      expect(repeated.length).toBeLessThanOrEqual(KILLS);
      expect(asked).toBeGreaterThanOrEqual(NAMES);
    }
  },
  900_000 * SLOW,
);

interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

const overlaps = (a: Period) => (b: Period) => a.toMs >= b.fromMs && a.fromMs <= b.toMs;
