import { expect, test } from 'vitest';
import { networkPolicy } from '../../bench/largepolicies.ts';
import { chainsMade } from '../../test/support/agent/ownclasses.ts';
import { assertExactly } from '../../test/support/oracle/inforce.ts';
import { decodeObject } from '../inputs/kube/decode/decode.ts';
import { type ClusterEvent, ClusterState } from '../model/cluster.ts';
import type { Policy } from '../model/policy.ts';
import { plan } from '../nft/plan/plan.ts';
import { compile } from './compile.ts';
import { Incremental } from './live/incremental.ts';

const NODE = 'n1';

function pod(name: string): ClusterEvent {
  return decodeObject({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels: { app: name } },
    spec: { nodeName: NODE, containers: [{ name: 'c' }] },
    status: { podIPs: [{ ip: `10.1.0.${name.charCodeAt(0)}` }] },
  }).event!;
}

/** 204 entries: a rule, a port, a peer, a requirement and its 200 values. */
function policy(name: string, labels: object): ClusterEvent {
  const values = Array.from({ length: 200 }, (_, i) => `${name}-${i}`);
  const from = [{ podSelector: { matchExpressions: [{ key: 'app', operator: 'In', values }] } }];
  const spec = { podSelector: { matchLabels: labels }, ingress: [{ from, ports: [{ port: 80 }] }] };
  return decodeObject(networkPolicy('shop', name, spec)).event!;
}

const gone = ({ type, key }: ClusterEvent) => ({ type, key }) as ClusterEvent;

/**
 * Policies that select all pods of the namespace, and one more for each pod, so that each pod is in a class of its own.
 */
function shop(policies: number, pods: readonly string[]): ClusterEvent[] {
  const ofAll = Array.from({ length: policies }, (_, i) => policy(`p${i}`, {}));
  return [...ofAll, ...pods.flatMap(app => [policy(`of-${app}`, { app }), pod(app)])];
}

/** An engine and a `compile` of the same events, which must agree; returns how many bundles there are. */
function followed() {
  const engine = new Incremental(NODE);
  const state = new ClusterState();
  return (events: readonly ClusterEvent[]): number => {
    for (const event of events) {
      engine.apply(event);
      state.apply(event);
    }
    const wanted = compile(state, NODE);
    expect(plan(wanted, engine.flush())).toEqual([]);
    return [...wanted.tables.get('ip')!.chains.keys()].filter(name => /^from-.*\/p/.test(name)).length;
  };
}

test('the policies of few classes are merged, however many they are up to a limit', () => {
  const bundles = followed();
  expect(bundles(shop(28, ['a']))).toBe(0); // 5,916 entries
  expect(bundles([policy('one-more', {})])).toBeGreaterThan(3);
  expect(bundles([gone(policy('one-more', {}))])).toBe(0);
});

test('a pod that makes a class too many has those of the others bundled, until it goes', () => {
  const bundles = followed();
  expect(bundles(shop(8, ['a', 'b', 'c', 'd']))).toBe(0); // 4 classes of 1,836 entries
  expect(bundles(shop(0, ['e']))).toBeGreaterThan(3);
  expect(bundles([gone(pod('c'))])).toBe(0);
});

test('a class with little leaves the bundles of others as they are', () => {
  const bundles = followed();
  const ofA = Array.from({ length: 150 }, (_, i) => policy(`p${i}`, { app: 'a' })); // 30,600 entries
  const before = bundles([...shop(0, ['a']), ...ofA]);
  expect(before).toBeGreaterThan(20);
  expect(bundles([policy('p-of-b', { app: 'b' }), pod('b')])).toBe(before + 1);
});

test('classes that pods join together are prepared in the form in which all of them will be', () => {
  const apps = ['a', 'b', 'c', 'd']; // with 9 of all and one of its own each, 8,160 entries
  const before = [...shop(9, []), ...apps.map(pod)];
  const engine = new Incremental(NODE, 'allow', 'others', undefined, { mostEntries: 0 });
  for (const event of before) engine.apply(event);
  engine.flush();
  const coming = apps.map(app => policy(`of-${app}`, { app })) as (ClusterEvent & { value: Policy })[];
  const changes = coming.map(({ value }) => ({ id: value.id, value }));
  engine.prepare(changes);
  engine.flush();
  expect(changes.every(change => engine.isPrepared(change))).toBe(true);
  for (const event of coming) engine.apply(event);
  engine.prepare([]);
  expect(chainsMade(() => engine.flush())).toBe(0);
  const flushed = engine.flush();
  const state = new ClusterState();
  for (const event of [...before, ...coming]) state.apply(event);
  assertExactly(flushed, state);
  expect([...flushed.tables.get('ip')!.chains.keys()].filter(name => /^from-.*\/p/.test(name))).not.toEqual(
    [],
  );
});
