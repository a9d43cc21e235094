import { expect, test } from 'vitest';
import type { Address } from '../model/address.ts';
import { ClusterState } from '../model/cluster.ts';
import { type Action, type Policy, type Rule, type Tier, withoutRules } from '../model/policy.ts';
import { EVERY_NAMESPACE, EVERYTHING } from '../model/selector.ts';
import { evaluate, evaluator } from './evaluate.ts';
import { walk } from './explain.ts';
import { parseFlow } from './flowtext.ts';

const TO_WEB = 'shop/client -> shop/web:80';

test('walk() names the policy that decided and those that it overridden', () => {
  const cluster = clusterOf(
    clusterPolicy('admin', 1, 'first', ['accept', 443]),
    clusterPolicy('admin', 2, 'second', ['deny', 80]),
    clusterPolicy('admin', 3, 'third', ['accept', 80]),
    clusterPolicy('admin', 4, 'fourth', ['deny', 80]),
    networkPolicy('allow', 80),
    networkPolicy('isolate', 443),
    clusterPolicy('baseline', 1, 'last', ['deny', 80]),
  );
  expect(stops(cluster, TO_WEB)).toEqual([
    'admin first nothing no-match',
    'admin second deny decided',
    'admin third allow overridden',
    'admin fourth deny same-verdict',
    'networkpolicy shop/allow allow overridden',
    'networkpolicy shop/isolate isolates no-match',
    'baseline last deny same-verdict',
  ]);
});

test('walk() follows a Pass to the next tier', () => {
  const cluster = clusterOf(
    clusterPolicy('admin', 1, 'pass', ['pass', 80]),
    clusterPolicy('admin', 2, 'deny', ['deny', 80]),
    networkPolicy('allow', 80),
  );
  expect(stops(cluster, TO_WEB)).toEqual([
    'admin pass pass passed',
    'admin deny deny overridden',
    'networkpolicy shop/allow allow decided',
  ]);
});

test('walk() shows what a Pass that came too late would have led to', () => {
  const admin = [
    clusterPolicy('admin', 1, 'deny', ['deny', 80]),
    clusterPolicy('admin', 2, 'pass', ['pass', 80]),
  ];
  expect(stops(clusterOf(...admin, networkPolicy('allow', 80)), TO_WEB)).toContain(
    'admin pass pass overridden',
  );
  expect(stops(clusterOf(...admin, networkPolicy('isolate', 443)), TO_WEB)).toContain(
    'admin pass pass same-verdict',
  );
  const baseline = clusterPolicy('baseline', 1, 'baseline', ['deny', 80]);
  expect(stops(clusterOf(...admin, baseline), TO_WEB)).toContain('admin pass pass same-verdict');
  expect(stops(clusterOf(...admin), TO_WEB)).toContain('admin pass pass overridden');
});

test('walk() shows that Baseline has no say where a NetworkPolicy isolates', () => {
  const cluster = clusterOf(
    networkPolicy('isolate', 443),
    networkPolicy('also', 444),
    clusterPolicy('baseline', 1, 'accept', ['accept', 80]),
    clusterPolicy('baseline', 2, 'pass', ['pass', 80]),
  );
  expect(stops(cluster, TO_WEB)).toEqual([
    'networkpolicy shop/also isolates decided',
    'networkpolicy shop/isolate isolates same-verdict',
    'baseline accept allow overridden',
    'baseline pass pass overridden',
  ]);
});

function closedByNodes(policy: Policy): Policy {
  const closed = policy.ingress!.map(rule => ({ ...rule, peers: 'any' as const }));
  return { ...policy, closed: 'nodes unread', ingress: closed };
}

test('walk() stops nowhere where policy has no say', () => {
  const cluster = clusterOf(networkPolicy('allow', 80));
  expect(walk(cluster, parseFlow(cluster, TO_WEB)).egress.stops).toEqual([]);
  const outside = walk(cluster, parseFlow(cluster, '192.0.2.7 -> shop/web:80'));
  expect(outside.egress.pod).toBeUndefined();
  expect(outside.ingress.pod).toBe('shop/web');
});

test.each([
  ['nobody selects', [], 'no policy selects shop/web for ingress'],
  [
    'a rule allows',
    [networkPolicy('allow', 80)],
    'NetworkPolicy shop/allow ingress[0] allows all pods in namespace shop on TCP 80',
  ],
  [
    'one isolates',
    [networkPolicy('one', 443)],
    'NetworkPolicy shop/one selects shop/web, and no rule of it allows ingress from shop/client on TCP 80',
  ],
  [
    'two isolate',
    [networkPolicy('one', 443), networkPolicy('two', 443)],
    'NetworkPolicies shop/one and shop/two select shop/web, and none allows ingress from shop/client on TCP 80',
  ],
  [
    'many isolate',
    ['a', 'b', 'c', 'd'].map(name => networkPolicy(name, 443)),
    'NetworkPolicies shop/a and 3 others select shop/web, and none allows ingress from shop/client on TCP 80',
  ],
  [
    'one isolates that has no rules',
    [withoutRules(networkPolicy('one', 443), 'policy too large')],
    'NetworkPolicy shop/one selects shop/web and allows nothing: it is larger than a policy may be',
  ],
  [
    'one of two has none',
    [networkPolicy('one', 443), withoutRules(networkPolicy('two', 443), 'no room')],
    'NetworkPolicies shop/one and shop/two select shop/web, and none allows ingress from shop/client on TCP 80; shop/two allows nothing: there is no room on this node for the pods that it means',
  ],
  [
    'two of three have none yet',
    ['a', 'b', 'c'].map((name, at) => ({
      ...networkPolicy(name, 443),
      ...(at > 0 && { closed: 'rules follow' as const }),
    })),
    'NetworkPolicies shop/a, shop/b and shop/c select shop/web, and none allows ingress from shop/client on TCP 80; shop/b and 1 more of them allow nothing: what it allows is on its way',
  ],
  [
    'a cluster policy denies',
    [clusterPolicy('admin', 1, 'platform', ['deny', 80])],
    'ClusterNetworkPolicy platform ingress[0] denies all pods in namespace shop on TCP 80',
  ],
  [
    'a cluster policy denies nodes, which are not read yet',
    [closedByNodes(clusterPolicy('admin', 1, 'platform', ['deny', 80]))],
    'ClusterNetworkPolicy platform ingress[0] denies any peer on TCP 80; the nodes have not been read yet, and any address may be one of theirs: a rule that denies or passes nodes denies all',
  ],
  [
    'a cluster policy has nothing to say',
    [clusterPolicy('admin', 1, 'platform', ['deny', 443])],
    'no rule of the policies that select shop/web for ingress matches',
  ],
  [
    'a cluster policy passes',
    [clusterPolicy('admin', 1, 'platform', ['pass', 80])],
    'ClusterNetworkPolicy platform ingress[0] passes all pods in namespace shop on TCP 80, and nothing after it decides',
  ],
])('evaluate() says why: %s', (_, policies, reason) => {
  const cluster = clusterOf(...policies);
  expect(evaluate(cluster, parseFlow(cluster, TO_WEB)).ingress.reason).toBe(reason);
});

test('evaluator() looks the policies through once, however many flows it judges', () => {
  const policies = Array.from({ length: 20 }, (_, at) => networkPolicy(`p${at}`, 1000 + at));
  const cluster = clusterOf(...policies, clusterPolicy('admin', 1, 'platform', ['deny', 25]));
  let looks = 0;
  const judge = evaluator({
    ...cluster,
    get policies() {
      looks++;
      return cluster.policies;
    },
  });
  const flow = parseFlow(cluster, TO_WEB);
  let denied = 0;
  for (let port = 1; port <= 2_000; port++) if (judge({ ...flow, port }).verdict === 'deny') denied++;
  expect(looks).toBe(1);
  expect(denied).toBe(2_000 - 20);
});

/** `tier policy says part` of each stop in the ingress direction. */
function stops(cluster: ClusterState, text: string): string[] {
  const flow = parseFlow(cluster, text);
  const { ingress, verdict } = walk(cluster, flow);
  expect(verdict).toBe(evaluate(cluster, flow).verdict);
  return ingress.stops.map(
    ({ tier, policy, says, part }) => `${tier} ${policy.split(' ')[1]} ${says} ${part}`,
  );
}

function clusterOf(...policies: Policy[]): ClusterState {
  const cluster = new ClusterState();
  for (const [name, address] of [
    ['web', '10.0.0.1'],
    ['client', '10.0.0.2'],
  ] as const) {
    const key = `shop/${name}` as const;
    const rest = { labels: { app: name }, hostNetwork: false, finished: false, createdAt: '', ports: [] };
    const value = { key, namespace: 'shop', name, node: 'n', addresses: [address as Address], ...rest };
    cluster.apply({ type: 'pod', key, value });
  }
  for (const policy of policies) cluster.apply({ type: 'policy', key: policy.id, value: policy });
  return cluster;
}

function networkPolicy(name: string, port: number): Policy {
  return policyOf('NetworkPolicy', `shop/${name}`, 'networkpolicy', 0, 'accept', port);
}

function clusterPolicy(tier: Tier, order: number, name: string, [action, port]: [Action, number]): Policy {
  return policyOf('ClusterNetworkPolicy', name, tier, order, action, port);
}

function policyOf(
  kind: Policy['kind'],
  name: string,
  tier: Tier,
  order: number,
  action: Action,
  port: number,
): Policy {
  const web = { requirements: [{ key: 'app', operator: 'In', values: ['web'] }] } as const;
  const rule: Rule = {
    path: 'ingress[0]',
    action,
    peers: [{ kind: 'pods', selector: { namespaces: { kind: 'name', name: 'shop' }, pods: EVERYTHING } }],
    ports: [{ kind: 'range', protocol: 'TCP', first: port, last: port }],
  };
  const subject = { namespaces: EVERY_NAMESPACE, pods: web };
  return { id: `${kind} ${name}`, kind, name, tier, order, subject, ingress: [rule] };
}
