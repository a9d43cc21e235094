import { expect, test } from 'vitest';
import { hashedName } from '../../../src/compiler/names.ts';
import { type Chain, mapTables } from '../../../src/nft/ruleset.ts';
import { flushedEngineOf } from '../agent/engine.ts';
import { OWN_CLASSES } from '../agent/ownclasses.ts';
import { assertInForce, clusterOf } from './inforce.ts';

const CLUSTER = clusterOf(OWN_CLASSES);
const RULES = flushedEngineOf(OWN_CLASSES).flush();

const beside = (more: Chain) =>
  mapTables(RULES, ({ sets, chains }) => ({ sets, chains: new Map([...chains, [more.name, more]]) }));

test('assertInForce() lets go ahead what classes need, and nothing that a packet comes to, or that leads nowhere', () => {
  const ahead: Chain = { name: hashedName('from', 'to come'), rules: [] };
  expect(() => assertInForce(beside(ahead), CLUSTER)).not.toThrow();
  const hook = { hook: 'forward', priority: 7, policy: 'drop' } as const;
  expect(() => assertInForce(beside({ ...ahead, hook }), CLUSTER)).toThrow('not what compile makes');
  expect(() => assertInForce(beside({ ...ahead, name: 'of-nobody' }), CLUSTER)).toThrow(
    'not what compile makes',
  );
  const jump = { kind: 'verdict', verdict: { kind: 'jump', chain: 'nowhere' } } as const;
  expect(() => assertInForce(beside({ ...ahead, rules: [{ exprs: [jump] }] }), CLUSTER)).toThrow('nowhere');
});
