import { expect, test } from 'vitest';
import { networkPolicy } from '../../bench/largepolicies.ts';
import { decodeObject } from '../inputs/kube/decode/decode.ts';
import type { Policy } from '../model/policy.ts';
import { Builder } from './builder.ts';
import type { PodClass } from './classes.ts';
import { sourcedRules } from './labelled.ts';
import { runRulesInPieces } from './run.ts';

const RULES = 1000;

/** Each rule has a port and a peer of its own. */
function ofRules(count: number): Policy {
  const ingress = Array.from({ length: count }, (_, i) => ({
    from: [{ ipBlock: { cidr: `10.0.${i >> 8}.${i & 255}/32` } }],
    ports: [{ port: 1 + i }],
  }));
  return decodeObject(networkPolicy('shop', 'large', { podSelector: {}, ingress })).event!.value as Policy;
}

test('a policy of a thousand rules is made in pieces, each of which makes the chains of few', () => {
  const policy = ofRules(RULES);
  const builder = new Builder('ip');
  const podClass: PodClass = {
    direction: 'ingress',
    policies: [policy],
    resolve: () => [],
    ports: [],
  };
  const run = {
    verdict: { kind: 'accept' },
    mostCompares: 0,
    rules: sourcedRules(policy, 'ingress'),
  } as const;
  const after = [0];
  const work = runRulesInPieces(run, { podClass, chain: 'from', builder });
  for (let done = false; !done; after.push(builder.chains.size)) ({ done = false } = work.next());
  const made = after.slice(1).map((chains, piece) => chains - after[piece]!);
  expect(builder.chains.size).toBe(RULES);
  expect(Math.max(...made)).toBeLessThanOrEqual(RULES / 10);
});
