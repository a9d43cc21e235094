/** Namespaces whose policies need more set members than the quota has room for. */
import { describe, expect, test } from 'vitest';
import { NODE } from '../../../test/support/agent/engine.ts';
import {
  allowPods,
  ingressPolicy,
  podEvent,
  policyEvent,
  tenantPod,
} from '../../../test/support/agent/tenants.ts';
import { assertExactly, clusterOf } from '../../../test/support/oracle/inforce.ts';
import { parseAddress, parseCidr } from '../../model/address.ts';
import type { ClusterEvent } from '../../model/cluster.ts';
import { type Policy, type Rule, withoutRules } from '../../model/policy.ts';
import type { PodSelector } from '../../model/selector.ts';
import type { SetQuota } from './groups/setquota.ts';
import { Incremental } from './incremental.ts';

const CROWD = 100;
const ROOM: SetQuota = { ofNamespace: 500, ofAll: 5_000 };

/**
 * Selects all red pods of the namespace: `app` is `red` or `other`, which no pod has, so each `other` gives another
 * selector.
 */
function crowded(namespace: string, other: string): PodSelector {
  const requirements = [{ key: 'app', operator: 'In' as const, values: ['red', other] }];
  return { namespaces: { kind: 'name', name: namespace }, pods: { requirements } };
}

/**
 * A policy with a rule for each list of selectors, each for a port of its own; more than two selectors of a rule become
 * one set.
 */
function allowing(name: `${string}/${string}`, rules: readonly (readonly string[])[]): Policy {
  const [namespace = ''] = name.split('/');
  return ingressPolicy(
    name,
    rules.map((others, n) =>
      allowPods(
        n,
        others.map(other => crowded(namespace, other)),
      ),
    ),
  );
}

/** A policy that needs so many sets, each of all red pods. */
const ofSets = (name: `${string}/${string}`, sets: number) =>
  allowing(
    name,
    Array.from({ length: sets }, (_, n) => [`${name}-${n}`]),
  );

/** Events that add this many red pods of another node. */
function crowd(namespace: string, count: number): ClusterEvent[] {
  return Array.from({ length: count }, (_, n) => {
    return podEvent(tenantPod(namespace, 1000 + n, { labels: { app: 'red' }, node: 'n2' }));
  });
}

const namespaces = ['tenant', 'other'];
const pods = namespaces.flatMap(namespace => [
  podEvent(tenantPod(namespace, 1, { node: NODE })),
  ...crowd(namespace, CROWD),
]);

/**
 * Runs an engine on these events, a flush for each list. Returns the policies that each flush refused, and the engine's
 * state.
 */
function played(room: SetQuota, ...flushes: readonly (readonly ClusterEvent[])[]) {
  const engine = new Incremental(NODE, 'allow', 'others', undefined, { room });
  const refused: string[][] = [];
  const inForce = new Map<string, ClusterEvent>();
  for (const events of flushes) {
    for (const event of events) {
      engine.apply(event);
      inForce.set(event.key, event);
    }
    const ruleset = engine.flush();
    const without = engine.takeRefused();
    for (const policy of without) inForce.set(policy.id, policyEvent(withoutRules(policy, 'no room')));
    refused.push(without.map(({ name }) => name).sort());
    assertExactly(ruleset, clusterOf([...inForce.values()]));
  }
  const sets = [...engine.flush().tables.get('ip')!.sets.values()].filter(({ name }) =>
    /^(peers|others)-/.test(name),
  );
  const members = sets.reduce((sum, { elements }) => sum + elements.size, 0);
  return { refused, members, engine };
}

describe('a namespace whose policies mean more than there is room for', () => {
  test('has the policy refused that came last, which isolates, and keeps the others', () => {
    const [first, last] = [ofSets('tenant/first', 4), ofSets('tenant/a-last', 3)];
    const { refused, members, engine } = played(ROOM, [...pods, policyEvent(first)], [policyEvent(last)]);
    expect(refused).toEqual([[], ['tenant/a-last']]);
    expect(members).toBe(4 * CROWD);
    expect(engine.cluster.policies.get(last.id)?.ingress).toEqual([]);
    expect(engine.cluster.policies.get(first.id)).toBe(first);
  });

  test('has the largest refused where all come at once, whatever the order', () => {
    const policies = [ofSets('tenant/a', 2), ofSets('tenant/b', 9), ofSets('tenant/c', 3)].map(policyEvent);
    for (const order of [policies, policies.toReversed()]) {
      const { refused, members } = played(ROOM, [...pods, ...order]);
      expect(refused).toEqual([['tenant/b']]);
      expect(members).toBe(5 * CROWD);
    }
  });

  test('takes nothing from another one', () => {
    const { refused, members } = played(ROOM, [
      ...pods,
      policyEvent(ofSets('tenant/large', 300)),
      policyEvent(ofSets('other/small', 4)),
    ]);
    expect(refused).toEqual([['tenant/large']]);
    expect(members).toBe(4 * CROWD);
  });

  test('is so by combinations of few selectors too: each is a set', () => {
    const few = Array.from({ length: 6 }, (_, n) => `few-${n}`);
    const combined = few.flatMap((a, i) => few.slice(i + 1).map((b, j) => [a, b, few[(i + j) % 6]!, 'x']));
    const { refused, members } = played(ROOM, [...pods, policyEvent(allowing('tenant/few', combined))]);
    expect(refused).toEqual([['tenant/few']]);
    expect(members).toBe(0);
  });

  test('is so by networks that contain many nodes with tunnels, each of which is a set (N75)', () => {
    const nodes = Array.from({ length: CROWD }, (_, n): ClusterEvent => {
      const [address, podNetwork] = [`172.16.0.${n}`, `10.200.${n}.0`].map(text => parseAddress(text)!);
      const tunnelAddresses = [podNetwork!];
      const podCidrs = [`${podNetwork}/24`];
      const value = { name: `t${n}`, labels: {}, addresses: [address!], podCidrs, tunnelAddresses };
      return { type: 'node', key: value.name, value };
    });
    const rules = Array.from({ length: 6 }, (_, n): Rule => {
      const peers = [{ kind: 'network', cidr: parseCidr(`172.16.0.0/${12 + n}`)!, except: [] }] as const;
      return { ...allowPods(n, []), peers };
    });
    const { refused, members } = played(
      ROOM,
      [...pods, policyEvent(ingressPolicy('tenant/wide', rules))],
      nodes,
    );
    expect(refused).toEqual([[], ['tenant/wide']]);
    expect(members).toBe(0);
  });

  test('is so when more pods come, and is not when policies that deny are many', () => {
    const many = Array.from({ length: 50 }, (_, n) => policyEvent(ingressPolicy(`tenant/deny-${n}`, [])));
    const small = policyEvent(ofSets('tenant/small', 1));
    const { refused, members } = played(
      ROOM,
      [...pods, policyEvent(ofSets('tenant/web', 4)), small, ...many],
      crowd('tenant', 2 * CROWD),
    );
    expect(refused).toEqual([[], ['tenant/web']]);
    expect(members).toBe(2 * CROWD);
  });

  test('has room again when a policy is edited and needs less', () => {
    const { refused, members } = played(
      ROOM,
      [...pods, policyEvent(ofSets('tenant/web', 6))],
      [policyEvent(ofSets('tenant/web', 5))],
    );
    expect(refused).toEqual([['tenant/web'], []]);
    expect(members).toBe(5 * CROWD);
  });
});

test('where all namespaces need too much together, each has its share, and those who need more lose', () => {
  const room = { ofNamespace: 1_000, ofAll: 1_200 };
  const { refused, members } = played(
    room,
    [...pods, policyEvent(ofSets('tenant/large', 9))],
    [policyEvent(ofSets('other/small', 4))],
  );
  expect(refused).toEqual([[], ['tenant/large']]);
  expect(members).toBe(4 * CROWD);
});

test('who needs most loses, however small the share is that many namespaces leave to each', () => {
  const many = Array.from({ length: 8 }, (_, n) => `a-tenant-of-many-${'x'.repeat(n)}`);
  const crowds = many.flatMap(name => [podEvent(tenantPod(name, 1, { node: NODE })), ...crowd(name, 1)]);
  const small = many.map(name => policyEvent(ofSets(`${name}/small`, 1)));
  const { refused, members } = played({ ofNamespace: 1_000, ofAll: 1_000 }, [
    ...pods,
    ...crowds,
    ...small,
    policyEvent(ofSets('other/three', 3)),
    policyEvent(ofSets('tenant/large', 9)),
  ]);
  expect(refused).toEqual([['tenant/large']]);
  expect(members).toBe(3 * CROWD + many.length);
});

test("what a policy of the cluster means is nobody's, and is refused to nobody", () => {
  const namespaced = ofSets('tenant/web', 30);
  const admin: Policy = {
    ...namespaced,
    id: 'ClusterNetworkPolicy web',
    kind: 'ClusterNetworkPolicy',
    name: 'web',
    tier: 'admin',
  };
  const { refused, members } = played(ROOM, [
    ...pods,
    policyEvent(admin),
    policyEvent(ofSets('tenant/small', 4)),
  ]);
  expect(refused).toEqual([[]]);
  expect(members).toBe(34 * CROWD);
});

test('a preparation stops if there is no room, and the change is refused when it is applied', () => {
  const engine = new Incremental(NODE, 'allow', 'others', undefined, { room: ROOM });
  for (const event of [...pods, policyEvent(ofSets('tenant/first', 2))]) engine.apply(event);
  engine.flush();
  const change = ofSets('tenant/huge', 240);
  engine.prepare([{ id: change.id, value: change }]);
  const sets = [...engine.flush().tables.get('ip')!.sets.values()];
  expect(engine.isPrepared({ id: change.id, value: change })).toBe(true);
  expect(sets.reduce((sum, { elements }) => sum + elements.size, 0)).toBeLessThan(
    ROOM.ofNamespace + 3 * CROWD,
  );
});
