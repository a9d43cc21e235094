/** Answers that are forged on another node: only that node can tell, and its agent does, whatever its own pods' rules. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ASKED_NAME, forgedAnswer } from '../../support/names/forgedanswer.ts';
import { HOSTS, NamesGround, RESOLVER, SLOW } from '../../support/names/ground.ts';
import { rawSend } from '../../support/names/rawsend.ts';

let ground: NamesGround;
beforeAll(async () => {
  ground = await NamesGround.build(53, 2);
  ground.writeManifests('*.t.example');
  await ground.startAgent();
  await ground.hearing();
}, 180_000 * SLOW);
afterAll(() => ground?.remove());

/** An accomplice asks, and evil on the other node answers in the resolver's name, which is there too. */
async function forge(address: string, port: number): Promise<void> {
  const { unanswered } = await ground.visit({ names: [ASKED_NAME], port });
  expect(unanswered).toBe(0);
  rawSend(ground.wayOf('evil'), HOSTS.dns[0], HOSTS.web[0], port, forgedAnswer(address));
  await new Promise(resolve => setTimeout(resolve, 300 * SLOW));
}

test('a resolver on another node is heard', async () => {
  const names = Array.from({ length: 20 }, (_, i) => `n${1 + i}.t.example`);
  for (const way of [{ names }, { names, type: 'AAAA' as const, resolver: RESOLVER.ip6 }])
    expect(await ground.visit(way)).toMatchObject({ failed: [], lost: 0, unanswered: 0 });
});

test('C54: an answer forged on a node without Sluice is learnt: this node cannot tell', async () => {
  await forge('10.98.78.1', 4_301);
  expect(ground.isLearnt('10.98.78.1')).toBe(true);
});

test('C54: an answer forged on a node with Sluice does not leave it, though no pod there has a rule by name', async () => {
  await ground.startSecondAgent();
  await forge('10.98.78.2', 4_302);
  expect(ground.isLearnt('10.98.78.2')).toBe(false);
  expect(await ground.visit({ names: ['n9.t.example'] })).toMatchObject({ failed: [], unanswered: 0 });
});
