/** What fails, and where resolvers may be: DNS goes on whatever happens, and what can be learnt is (docs/names.md). */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { openConntrack } from '../../../src/kernel/netlink/conntrack/conntrack.ts';
import { HEARTBEAT_INTERVAL_MS, SWITCH_MS } from '../../../src/names/control.ts';
import type { Connection } from '../../../src/nft/conntrack.ts';
import { HOSTS, NODE_ADDRESS, RESOLVER, SLOW } from '../../support/names/ground.ts';
import { until } from '../../support/until.ts';
import { hearingGround } from './hearingground.ts';

const SECOND = '10.96.0.11';
/** In the queue. */
const MOST_WAITING = 4_096;
const WHOLE = { failed: [], lost: 0, unanswered: 0 };

describe('with a resolver in a pod and one on the node', () => {
  let onNode: ChildProcess;
  const ground = hearingGround({
    agent: ['--dns-servers', [...Object.values(RESOLVER), NODE_ADDRESS, SECOND, HOSTS.dns[0]].join()],
    beforeAgent: async own => {
      onNode = await own.start('node', 'resolver.ts');
    },
  });

  const nft = (text: string) => ground.exec(ground.nodePath, 'nft', text);
  /** Until the kernel is told once more that the agent hears answers. */
  const renewed = async () => {
    const left = () => {
      const text = ground.exec(ground.nodePath, 'nft', 'list', 'set', 'ip', 'sluice', 'names-alive');
      const [, s = 0, ms = 0] = /expires (?:(\d+)s)?(?:(\d+)ms)?/.exec(text) ?? [];
      return 1_000 * Number(s) + Number(ms);
    };
    let least = left();
    await ground.until(() => {
      const now = left();
      if (now > least) return true;
      least = now;
      return false;
    });
  };
  const names = (from: number, count = 20) =>
    Array.from({ length: count }, (_, i) => `n${from + i}.t.example`);

  test('answers of a resolver on the node are learnt', async () => {
    expect(await ground.visit({ names: names(1), resolver: NODE_ADDRESS })).toMatchObject(WHOLE);
    expect(await ground.visit({ names: names(31), resolver: NODE_ADDRESS, byTcp: true })).toMatchObject(
      WHOLE,
    );
  });

  test('and of one there behind a Service', async () => {
    nft('add table ip second');
    nft('add chain ip second services { type nat hook prerouting priority dstnat; }');
    nft(`add rule ip second services ip daddr ${SECOND} udp dport 53 dnat to ${NODE_ADDRESS}:53`);
    expect(await ground.visit({ names: names(61), resolver: SECOND })).toMatchObject(WHOLE);
  });

  test('and of one there whose packets are not tracked, as those of a node-local cache', async () => {
    nft('add table ip untracked');
    nft('add chain ip untracked in { type filter hook prerouting priority raw; }');
    nft('add chain ip untracked out { type filter hook output priority raw; }');
    nft(`add rule ip untracked in ip daddr ${NODE_ADDRESS} udp dport 53 notrack`);
    nft(`add rule ip untracked out ip saddr ${NODE_ADDRESS} udp sport 53 notrack`);
    expect(await ground.visit({ names: names(91), resolver: NODE_ADDRESS })).toMatchObject(WHOLE);
    nft('delete table ip untracked');
  });

  test('a resolver that dies takes nothing with it: what it told stands until its end', async () => {
    onNode.kill('SIGKILL');
    await once(onNode, 'close');
    const late = { names: names(111, 1), resolver: NODE_ADDRESS, answerMs: 500 };
    expect(await ground.visit(late)).toMatchObject({ unanswered: 1, connected: [] });
    expect(await ground.visit({ names: ['10.98.0.1', '10.98.0.91'] })).toMatchObject(WHOLE);
  });

  test('eight aliases, 200 addresses by UDP, 300 by TCP, late answers: the first packet passes', async () => {
    const kinds = ['e121.t.example', 'm91.t.example', 'm200.t.example', 'w122.t.example'];
    expect(await ground.visit({ names: kinds })).toMatchObject(WHOLE);
    expect(await ground.visit({ names: ['m300.t.example'], byTcp: true })).toMatchObject(WHOLE);
    for (const i of [0, 90, 199, 299])
      expect(ground.isLearnt(`10.98.${(40_000 + i) >> 8}.${(40_000 + i) & 255}`)).toBe(true);
  });

  test('of an answer with 2,000 addresses the first 512 are learnt', async () => {
    expect(await ground.visit({ names: ['m2000.t.example'], byTcp: true })).toMatchObject(WHOLE);
    const addressOf = (i: number) => `10.98.${(40_000 + i) >> 8}.${(40_000 + i) & 255}`;
    expect([511, 512, 1_999].map(i => ground.isLearnt(addressOf(i)))).toEqual([true, false, false]);
  });

  test('what is no answer of a resolver to a pod with rules by name never comes to the queue', async () => {
    await ground.start('evil', 'resolver.ts');
    const queued = () => ground.answersSeen;
    const before = queued();
    const own = { names: names(211), resolver: HOSTS.evil[0], patienceMs: 100 };
    for (const way of [own, { ...own, byTcp: true }])
      expect(await ground.visit(way)).toMatchObject({ unanswered: 0, connected: [] });
    expect(await ground.visit({ names: names(211), resolver: HOSTS.dns[0] }, 'target')).toMatchObject(WHOLE);
    expect(await ground.visit({ names: names(211), resolver: HOSTS.dns[0] }, 'node')).toMatchObject(WHOLE);
    expect(await ground.visit({ names: ['10.98.0.1'] })).toMatchObject(WHOLE);
    expect(queued()).toBe(before);
    expect(await ground.visit({ names: names(211, 1) })).toMatchObject(WHOLE);
    expect(queued()).toBe(before + 1);
  });

  test('a question that conntrack has forgotten is answered, and nothing is learnt from it', async () => {
    const conntrack = await inNamespace(ground.nodePath, async () => openConntrack());
    const questions: Connection[] = [];
    const isQuestion = ({ to, port }: Connection['flow']) => to === HOSTS.dns[0] && port === 53;
    const visit = await ground.whileResolverHangs(async () => {
      const report = ground.visit({ names: ['n131.t.example'], resolver: HOSTS.dns[0], patienceMs: 300 });
      await until('a question', async () => {
        await conntrack.read([HOSTS.web[0]], isQuestion, connection => {
          if (connection.unreplied) questions.push(connection);
        });
        return questions.length > 0;
      });
      await conntrack.delete(questions);
      return { report };
    });
    conntrack.close();
    expect(await visit.report).toMatchObject({ unanswered: 0, connected: [] });
    expect(await ground.visit({ names: ['n131.t.example'] })).toMatchObject(WHOLE);
  });

  test(
    'a queue that nobody reads is full, and lets all go on',
    async () => {
      process.kill(ground.agent!.pid, 'SIGSTOP');
      const floods = ['web', 'mallory', 'web', 'mallory'].map((host, i) =>
        ground.visit({ names: ['f6000.t.example'], port: 4_400 + i, answerMs: 6_000 * SLOW }, host as 'web'),
      );
      // On a slow machine the switch may end before: then all go on too.
      const isSwitchedOff = () =>
        !ground
          .exec(ground.nodePath, 'nft', 'list', 'set', 'ip', 'sluice', 'names-alive')
          .includes('elements');
      await ground.until(() => Number(ground.queue()[2]) >= MOST_WAITING || isSwitchedOff());
      const flooded = await Promise.all(floods);
      const [, , , , , dropped, droppedInSocket] = ground.queue();
      process.kill(ground.agent!.pid, 'SIGCONT');
      expect([dropped, droppedInSocket]).toEqual(['0', '0']);
      for (const { unanswered } of flooded) expect(unanswered).toBe(0);
      await ground.readingAnswers();
      await ground.read('n241.t.example');
      // What the pod may be told in a second is used up, and comes back bit by bit.
      const visits = [141, 501, 521, 541, 561].map(first => () => ground.visit({ names: names(first) }));
      let heard = await visits.shift()!();
      while (heard.failed.length > 0 && visits.length > 0) heard = await visits.shift()!();
      expect(heard).toMatchObject(WHOLE);
    },
    120_000 * SLOW,
  );

  test('the node’s own questions are nobody’s business', async () => {
    const before = ground.elements();
    expect(await ground.visit({ names: names(161), resolver: HOSTS.dns[0] }, 'node')).toMatchObject(WHOLE);
    expect(ground.elements().filter(element => !before.includes(element))).toEqual([]);
  });

  test(
    'an agent whose main thread is held hears all the same',
    async () => {
      await ground.agent!.kill('SIGTERM');
      const program = new URL('../../support/names/heldthread.ts', import.meta.url);
      Object.assign(process.env, { NODE_OPTIONS: `--import ${program}`, HELD_MS: 15_000 * SLOW });
      const started = ground.startAgent();
      for (const name of ['NODE_OPTIONS', 'HELD_MS']) delete process.env[name];
      await started;
      await ground.readingAnswers();
      process.kill(ground.agent!.pid, 'SIGUSR2');
      await ground.until(() => ground.agent!.output.includes('held'));
      for (let renewals = 0; renewals * HEARTBEAT_INTERVAL_MS <= SWITCH_MS; renewals++) await renewed();
      expect(await ground.visit({ names: names(181) })).toMatchObject(WHOLE);
      expect(ground.agent!.output).not.toContain('free again');
    },
    120_000 * SLOW,
  );

  test('a table that is taken away is made again, with what had been told', async () => {
    expect(await ground.visit({ names: ['n171.t.example'] })).toMatchObject(WHOLE);
    try {
      nft('delete table ip sluice');
    } catch (error) {
      expect(String(error)).toMatch(/Operation not permitted/); // since 6.9 it has an owner
      return;
    }
    await ground.until(() => ground.isLearnt('10.98.0.171'));
    expect(await ground.visit({ names: ['n172.t.example'] })).toMatchObject(WHOLE);
  });
});

describe('with a resolver that is asked at another port than its Service’s', () => {
  const ground = hearingGround({ port: 5353, agent: ['--dns-target-ports', '5353'] });

  test('its answers are learnt where --dns-target-ports names the port, by UDP and TCP', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `n${1 + i}.t.example`);
    expect(await ground.visit({ names: names.slice(0, 20) })).toMatchObject(WHOLE);
    expect(await ground.visit({ names: names.slice(20, 30), byTcp: true })).toMatchObject(WHOLE);
    expect(
      await ground.visit({ names: names.slice(30), type: 'AAAA', resolver: RESOLVER.ip6 }),
    ).toMatchObject(WHOLE);
  });

  test('an agent that is not told of it learns nothing, and leaves DNS alone', async () => {
    await ground.agent!.kill('SIGTERM');
    await ground.startAgent();
    await ground.readingAnswers();
    const { unanswered, connected } = await ground.visit({ names: ['n51.t.example'], patienceMs: 300 });
    expect({ unanswered, connected }).toEqual({ unanswered: 0, connected: [] });
  });
});
