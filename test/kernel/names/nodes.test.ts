/** Answers that are forged on another node: only that node can tell, and its agent does, whatever its own pods' rules. */
import { expect, test } from 'vitest';
import type { Address } from '../../../src/model/address.ts';
import { ASKED_NAME, forgedAnswer } from '../../support/names/forgedanswer.ts';
import { HOSTS, policyText, RESOLVER } from '../../support/names/ground.ts';
import { rawSend } from '../../support/names/rawsend.ts';
import { hearingGround } from './hearingground.ts';

const ground = hearingGround({
  nodes: 2,
  agent: ['--dns-servers', [...Object.values(RESOLVER), HOSTS.target[0]].join()],
  beforeAgent: async own => {
    own.write('policy.yaml', policyText(['*.t.example']).replace(HOSTS.evil[0], HOSTS.target[0]));
    await own.start('target', 'resolver.ts');
  },
});

/** An accomplice asks, and evil on the other node answers in the resolver's name: by default of the one that is there too. */
async function forge(
  address: string,
  port: number,
  resolver: Address = RESOLVER.ip,
  as: Address = HOSTS.dns[0],
): Promise<void> {
  const { unanswered } = await ground.visit({ names: [ASKED_NAME], port, resolver });
  expect(unanswered).toBe(0);
  rawSend(ground.wayOf('evil'), as, HOSTS.web[0], port, forgedAnswer(address));
  await ground.read(`n${port}.t.example`);
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

test('C54: an answer that comes from another node in the name of a resolver of this one is not learnt', async () => {
  const [local] = HOSTS.target;
  expect(await ground.visit({ names: ['n31.t.example'], resolver: local })).toMatchObject({ failed: [] });
  await forge('10.98.78.3', 4_303, local, local);
  expect(ground.isLearnt('10.98.78.3')).toBe(false);
});

test('C54: an answer forged on a node with Sluice does not leave it, though no pod there has a rule by name', async () => {
  await ground.startSecondAgent();
  await forge('10.98.78.2', 4_302);
  expect(ground.isLearnt('10.98.78.2')).toBe(false);
  expect(await ground.visit({ names: ['n9.t.example'] })).toMatchObject({ failed: [], unanswered: 0 });
});
