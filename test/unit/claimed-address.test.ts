/** What a pod object of another node can do to a local pod by claiming its address: nothing. */
import { expect, test } from 'vitest';
import { address } from '../../bench/lab/topology.ts';
import { compile } from '../../src/compiler/compile.ts';
import { Incremental } from '../../src/compiler/live/incremental.ts';
import type { ClusterEvent, Pod } from '../../src/model/cluster.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { packet } from '../../src/nft/trace/packet.ts';
import { trace } from '../../src/nft/trace/trace.ts';
import { nodeEvent, shopPod, shopPolicy } from '../support/scenarios/shop.ts';

const [db, web, stranger] = ['10.1.0.1', '10.2.0.1', '10.2.0.9'].map(address) as [never, never, never];

const CAST = [
  nodeEvent('n1', ['172.18.0.1']),
  shopPod('shop/db', 'n1', ['10.1.0.1']),
  shopPod('shop/web', 'n2', ['10.2.0.1']),
  shopPolicy('db', {
    podSelector: { matchLabels: { app: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }] }],
  }),
];

/** Younger than everybody. */
function claim(ip: string): ClusterEvent {
  const { value } = shopPod('shop/liar', 'n2', [ip], { app: 'web' }) as { value: Pod };
  return { type: 'pod', key: 'shop/liar', value: { ...value, createdAt: '2030-01-01T00:00:00Z' } };
}

const verdict = (ruleset: Ruleset, from: never) =>
  trace(ruleset, 'ip', 'forward', packet({ from, to: db, protocol: 'TCP', port: 80 }), 'new').verdict;

test('a claim of its address leaves the isolation of a local pod in force', () => {
  const engine = new Incremental('n1');
  for (const event of CAST) engine.apply(event);
  engine.flush();
  engine.apply(claim('10.1.0.1'));
  const ruleset = engine.flush();
  expect([verdict(ruleset, web), verdict(ruleset, stranger)]).toEqual(['accept', 'drop']);
  expect(plan(ruleset, compile(engine.cluster, 'n1'))).toEqual([]);
});

test('a claim of the address of a local pod makes it no peer of another', () => {
  const engine = new Incremental('n1');
  const local = shopPod('shop/api', 'n1', ['10.1.0.2']);
  for (const event of [...CAST, local, claim('10.1.0.2')]) engine.apply(event);
  expect(verdict(engine.flush(), address('10.1.0.2') as never)).toBe('drop');
});

test('a claim of an address of another node comes to nothing once that node has its network', () => {
  const engine = new Incremental('n1');
  const owner = shopPod('shop/other', 'n3', ['10.3.0.1']);
  for (const event of [...CAST, owner, claim('10.3.0.1')]) engine.apply(event);
  engine.flush();
  const { value } = nodeEvent('n3', []) as Extract<ClusterEvent, { type: 'node' }>;
  engine.apply({ type: 'node', key: 'n3', value: { ...value!, podCidrs: ['10.3.0.0/16'] } });
  const ruleset = engine.flush();
  expect(verdict(ruleset, address('10.3.0.1') as never)).toBe('drop');
  expect(plan(ruleset, compile(engine.cluster, 'n1'))).toEqual([]);
});
