/** A pod that loses its rule by name by a label, and an agent that hangs while another tenant's pod is told very much. */
import { expect, test } from 'vitest';
import { clusterText, policyText, SLOW } from '../../support/names/ground.ts';
import { hearingGround } from './hearingground.ts';

const ALL = 'matchLabels: { app: web }';
const WEB = 'name: web, namespace: shop, labels: { app: web }';

const ground = hearingGround({
  beforeAgent: own => {
    const byName = policyText(['*.t.example']);
    own.write('policy.yaml', byName.slice(0, byName.indexOf('  - name: nowhere')));
    const others = 'matchExpressions: [{ key: app, operator: In, values: [web, other] }]';
    const nowhere = policyText([])
      .replace('name: logs', 'name: rest')
      .replace('priority: 10', 'priority: 11');
    own.write('rest.yaml', nowhere.replace(ALL, others));
  },
});

test(
  'C58: what a pod was told ends with the label by which it had the rule, and does not come back with it',
  async () => {
    expect((await ground.visit({ names: ['n1.t.example'] })).connected).toHaveLength(1);
    const kept = ground.keep('10.98.0.1');
    await kept.goesOn();
    ground.write('cluster.yaml', clusterText(1).replace(WEB, WEB.replace('app: web', 'app: other')));
    await ground.until(() => !ground.isLearnt('10.98.0.1'));
    const isOpen = async () =>
      (await ground.visit({ names: ['10.98.0.1'], patienceMs: 300 })).connected.length > 0;
    expect(await isOpen()).toBe(false);
    await kept.hangs();
    ground.write('cluster.yaml', clusterText(1));
    const again = await ground.visit({ names: ['n2.t.example'], rounds: 20 });
    expect(again.connected).toHaveLength(1);
    expect(await isOpen()).toBe(false);
  },
  300_000 * SLOW,
);

test(
  'an agent that hangs while 40,000 answers come costs another tenant’s pod no answer',
  async () => {
    expect((await ground.visit({ names: ['n3.t.example'] })).connected).toHaveLength(1);
    process.kill(ground.agent!.pid, 'SIGSTOP');
    const hung = ground.flooded(2);
    const floods = [4_321, 4_322].map(port =>
      ground.visit({ names: ['f20000.t.example'], patienceMs: 4_000, port }, 'mallory'),
    );
    const names = ['n301.t.example', '10.98.0.3'];
    const stopped = await ground.visit({ names, attempts: 6, answerMs: 1_000, patienceMs: 300 });
    expect(stopped).toMatchObject({ unanswered: 0, connected: ['10.98.0.3'] });
    await hung;
    process.kill(ground.agent!.pid, 'SIGCONT');
    await Promise.all(floods);
    await ground.readingAnswers();
    const fresh = Array.from({ length: 50 }, (_, i) => `n${400 + i}.t.example`);
    const after = await ground.visit({ names: fresh, rounds: 5 });
    expect(after).toMatchObject({ unanswered: 0, failed: [] });
  },
  300_000 * SLOW,
);
