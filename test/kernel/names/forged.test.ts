/** Who can have an address learnt that no resolver told: nobody, also while a question is open. */
import { expect, test } from 'vitest';
import type { Address } from '../../../src/model/address.ts';
import { ASKED_NAME, forgedAnswer } from '../../support/names/forgedanswer.ts';
import { HOSTS, policyText, RESOLVER } from '../../support/names/ground.ts';
import { rawSend } from '../../support/names/rawsend.ts';
import { hearingGround } from './hearingground.ts';

const ground = hearingGround({
  beforeAgent: own => {
    // The resolver has a rule by name too: it is told nothing by who asks it.
    const ofResolver = policyText(['*.t.example']).replace('app: web', 'app: dns');
    own.write(
      'resolver.yaml',
      ofResolver.replace('name: logs', 'name: resolver').replace('priority: 10', 'priority: 11'),
    );
  },
});

const [WEB] = HOSTS.web;
const [EVIL] = HOSTS.evil;
const [DNS] = HOSTS.dns;

/** A question of shop/web, whose connection the node knows from now on. */
async function openQuestion(port: number, resolver: Address): Promise<void> {
  const answerMs = resolver === EVIL ? 50 : 5_000;
  const report = await ground.visit({ names: [ASKED_NAME], resolver, port, answerMs });
  expect(report.unanswered).toBe(resolver === EVIL ? 1 : 0);
}

function forge(host: 'web' | 'evil', from: Address, port: number, address: string): void {
  rawSend(ground.wayOf(host), from, WEB, port, forgedAnswer(address));
}

const FORGERIES: [what: string, attack: (address: string, port: number) => Promise<void>][] = [
  [
    'another pod, no question is open, in the Service’s name',
    async address => forge('evil', RESOLVER.ip, 5_555, address),
  ],
  [
    'another pod, no question is open, in the resolver’s name',
    async address => forge('evil', DNS, 5_555, address),
  ],
  [
    'another pod, a question is open, in the Service’s name',
    async (address, port) => {
      await openQuestion(port, RESOLVER.ip);
      forge('evil', RESOLVER.ip, port, address);
    },
  ],
  [
    'another pod, a question is open, in the resolver’s name',
    async (address, port) => {
      await openQuestion(port, RESOLVER.ip);
      forge('evil', DNS, port, address);
    },
  ],
  [
    'the pod itself answers the question that it asked, in the resolver’s name',
    async (address, port) => {
      await openQuestion(port, RESOLVER.ip);
      forge('web', DNS, port, address);
    },
  ],
  [
    'a resolver of the pod’s own answers what it was asked',
    async (address, port) => {
      await openQuestion(port, EVIL);
      forge('evil', EVIL, port, address);
    },
  ],
  [
    'a question to the resolver that says it is an answer',
    async address => rawSend(ground.wayOf('evil'), EVIL, RESOLVER.ip, 53, forgedAnswer(address)),
  ],
];

test.each(FORGERIES.map(([what, attack], i) => [what, attack, `10.98.77.${i + 1}`, 4_100 + i] as const))(
  'C54: nothing is learnt from a forged answer: %s',
  async (_, attack, address, port) => {
    await attack(address, port);
    await ground.read(`n${port}.t.example`);
    expect(ground.isLearnt(address)).toBe(false);
  },
);

test('the same answer in the resolver’s name from where the resolver is, to an open question, is learnt', async () => {
  await openQuestion(4_200, RESOLVER.ip);
  rawSend(ground.wayOf('dns'), DNS, WEB, 4_200, forgedAnswer('10.98.77.99'));
  await ground.until(() => ground.isLearnt('10.98.77.99'));
});
