import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../test/support/seed.ts';
import type { Direction, Policy, Rule } from '../../../model/policy.ts';
import type { LabelSelector } from '../../../model/selector.ts';
import { decodeDelivered, decodeObject } from './decode.ts';

// A valid object of each kind, with every field that a decoder reads.
const SELECTOR = {
  matchLabels: { app: 'web' },
  matchExpressions: [
    { key: 'tier', operator: 'NotIn', values: ['old', 'test'] },
    { key: 'x', operator: 'Exists' },
  ],
};
const NETWORK_POLICY = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    podSelector: SELECTOR,
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      {
        from: [
          { podSelector: SELECTOR },
          { namespaceSelector: SELECTOR, podSelector: {} },
          { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16', '10.2.0.0/16'] } },
        ],
        ports: [
          { port: 80 },
          { protocol: 'UDP', port: 1000, endPort: 2000 },
          { protocol: 'SCTP', port: 'sig' },
        ],
      },
    ],
    egress: [
      { to: [{ ipBlock: { cidr: 'fd00::/8', except: ['fd00:1::/32'] } }], ports: [{ protocol: 'UDP' }] },
      {},
    ],
  },
};
const CLUSTER_NETWORK_POLICY = {
  apiVersion: 'policy.networking.k8s.io/v1beta1',
  kind: 'ClusterNetworkPolicy',
  metadata: { name: 'platform' },
  spec: {
    tier: 'Admin',
    priority: 10,
    subject: { pods: { namespaceSelector: SELECTOR, podSelector: SELECTOR } },
    ingress: [
      {
        name: 'in',
        action: 'Accept',
        from: [{ namespaces: SELECTOR }],
        protocols: [{ tcp: { destinationPort: { number: 80 } } }],
      },
      {
        action: 'Pass',
        from: [{ pods: { podSelector: SELECTOR } }],
        protocols: [{ destinationNamedPort: 'web' }],
      },
      { action: 'Deny', from: [{ namespaces: {} }] },
    ],
    egress: [
      { action: 'Accept', to: [{ nodes: SELECTOR }, { networks: ['10.0.0.0/8', '::/0'] }] },
      { action: 'Accept', to: [{ domainNames: ['*.example.com'] }] },
      {
        action: 'Deny',
        to: [{ namespaces: {} }],
        protocols: [{ udp: { destinationPort: { range: { start: 1, end: 9 } } } }],
      },
    ],
  },
};
const ADMIN_NETWORK_POLICY = {
  apiVersion: 'policy.networking.k8s.io/v1alpha1',
  kind: 'AdminNetworkPolicy',
  metadata: { name: 'platform' },
  spec: {
    priority: 10,
    subject: { namespaces: SELECTOR },
    ingress: [
      {
        action: 'Allow',
        from: [{ namespaces: SELECTOR }],
        ports: [{ portNumber: { protocol: 'TCP', port: 80 } }],
      },
    ],
    egress: [
      {
        action: 'Allow',
        to: [{ networks: ['10.0.0.0/8'] }],
        ports: [{ portRange: { protocol: 'UDP', start: 1, end: 9 } }],
      },
      { action: 'Deny', to: [{ nodes: {} }], ports: [{ namedPort: 'web' }] },
    ],
  },
};
const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
  spec: { nodeName: 'n', hostNetwork: false, containers: [{ ports: [{ name: 'web', containerPort: 80 }] }] },
  status: { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] },
};
const NODE = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n', labels: { zone: 'a' } },
  spec: { podCIDRs: ['10.0.0.0/24'] },
  status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] },
};
const POLICIES = [NETWORK_POLICY, CLUSTER_NETWORK_POLICY, ADMIN_NETWORK_POLICY];
const OBJECTS = [...POLICIES, POD, NODE];

type Step = string | number;

/** The paths of all values in an object, from the second level down. */
function placesOf(value: unknown, path: readonly Step[] = []): (readonly Step[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const keys: Step[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...keys.flatMap(key => placesOf((value as Record<Step, unknown>)[key], [...path, key]))];
}

/** A copy in which the value at a place is another; without a value, it is gone. */
function replaced(object: unknown, [step, ...rest]: readonly Step[], value: unknown): unknown {
  if (step === undefined) return value;
  const copy = (Array.isArray(object) ? [...object] : { ...(object as object) }) as Record<Step, unknown>;
  copy[step] = replaced(copy[step], rest, value);
  return copy;
}

/** One thing each: garbage of two parts may be a bad one beside a good one, and the good one would count. */
const SCALAR = fc.oneof(
  fc.constantFrom(null, '', 'x', '80', '10.0.0.0/33', 'In', 'Pass', -1, 0, 7, 80.5, 65536, true, false),
  fc.string(),
  fc.integer(),
);
const GARBAGE = fc.oneof(
  SCALAR,
  fc.constantFrom([], {}, undefined),
  SCALAR.map(value => [value]),
  fc.constantFrom([[]], [{}], { x: {} }, { key: 'a' }),
  fc.constantFrom({ toString: 1 }, { constructor: 'x' }, JSON.parse('{ "__proto__": [] }')),
);

/** One place of an object is another thing, or one of its maps has one key more. */
function broken(objects: readonly object[]) {
  return fc.constantFrom(...objects).chain(object => {
    const places = placesOf(object).slice(1);
    const replacing = fc
      .tuple(fc.constantFrom(...places), GARBAGE)
      .map(([path, value]) => replaced(object, path, value));
    const inMaps = places.filter(path => typeof path.at(-1) === 'string');
    const adding = fc
      .tuple(fc.constantFrom(...inMaps), fc.string(), SCALAR)
      .map(([path, key, value]) => replaced(object, [...path.slice(0, -1), key], value));
    return fc.oneof(replacing, adding).map(mutant => ({ object, mutant }));
  });
}

test('decodeObject() finds nothing wrong with the objects that the other properties break', () => {
  for (const object of OBJECTS) {
    const { event, problems } = decodeObject(object);
    expect(event).toBeDefined();
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
  }
});

test('decodeObject() never throws, and gives an event or a reason', () => {
  const anything = fc.oneof(
    fc.anything(),
    broken(OBJECTS).map(({ mutant }) => mutant),
  );
  fc.assert(
    fc.property(anything, object => {
      const { event, problems, kind } = decodeObject(object);
      const isOurs = OBJECTS.some(known => known.kind === kind);
      if (isOurs && event === undefined && !isForeign(object)) expect(problems).not.toEqual([]);
    }),
    { numRuns: runs(20_000) },
  );
});

/** Kinds of other groups may have the same name. */
function isForeign(object: unknown): boolean {
  const { apiVersion } = object as { apiVersion: unknown };
  return !OBJECTS.some(known => known.apiVersion === apiVersion);
}

test('decodeObject() of a policy with an error opens nothing that the policy without it had closed', () => {
  const reported = { errors: 0, events: 0 };
  fc.assert(
    fc.property(broken(POLICIES), ({ object, mutant }) => {
      const { event, problems } = decodeObject(mutant);
      if (!problems.some(({ severity }) => severity === 'error')) return;
      reported.errors++;
      if (event === undefined) return; // without a name or a spec, nothing says which pods it could select
      reported.events++;
      const [policy, original] = [event.value as Policy, decodeObject(object).event!.value as Policy];
      expectNoWider(policy, original);
      if (!policy.uncertain) expectNoRuleLost(policy, mutant as typeof CLUSTER_NETWORK_POLICY);
      // N58: a selector that is not there is one that selects everything.
      const { spec } = mutant as { spec?: { podSelector?: unknown } };
      if (original.kind !== 'NetworkPolicy' || spec?.podSelector) expectSameSubjectOrUnsure(policy, original);
    }),
    { numRuns: runs(20_000) },
  );
  expect(reported.errors).toBeGreaterThan(runs(5_000));
  expect(reported.events).toBeGreaterThan(runs(3_000));
});

/**
 * Every error is in one part. A part with an error is left out (NetworkPolicy), or its whole rule is (cluster tiers).
 * So everything that is left is also in the original, and what could have denied still does.
 */
function expectNoWider(policy: Policy, original: Policy): void {
  for (const direction of ['ingress', 'egress'] as const) {
    const [rules, before] = [policy[direction], original[direction]];
    // Accepting rules are left out of a policy without a known place in the order.
    if (before !== undefined && !policy.uncertain) expect(rules, direction).toBeDefined();
    for (const rule of rules ?? [])
      expectNoWiderRule(
        rule,
        before!.find(({ path }) => path === rule.path),
      );
  }
}

/** The broken policy selects all pods that the original selects, or may select them. */
function expectSameSubjectOrUnsure({ subject }: Policy, original: Policy): void {
  const [namespaces, before] = [subject.namespaces, original.subject.namespaces];
  expectSameOrUnsure(subject.pods, original.subject.pods);
  if (namespaces.kind === 'name' || before.kind === 'name') expect(namespaces).toEqual(before);
  else if (!subject.pods.unreadable) expectSameOrUnsure(namespaces.selector, before.selector);
}

function expectSameOrUnsure(selector: LabelSelector, before: LabelSelector): void {
  if (!selector.unreadable) expect(selector.requirements).toHaveLength(before.requirements.length);
  for (const requirement of selector.requirements) expect(before.requirements).toContainEqual(requirement);
}

/** A rule that cannot be read is not one that is not there: a later rule may allow what it denies. */
function expectNoRuleLost(policy: Policy, { spec }: { spec: Partial<Record<Direction, unknown>> }): void {
  for (const direction of ['ingress', 'egress'] as const) {
    const written = spec[direction];
    if (Array.isArray(written)) expect(policy[direction] ?? []).toHaveLength(written.length);
  }
}

function expectNoWiderRule(rule: Rule, before: Rule | undefined): void {
  if (rule.action === 'deny' && rule.peers === 'any' && rule.ports === 'any') return;
  if (rule.action === 'accept' && rule.peers.length === 0) return;
  if (rule.action !== 'deny' || before?.action !== 'pass') expect(rule.action).toBe(before?.action);
  expectSubset(rule.peers, before!.peers);
  expectSubset(rule.ports, before!.ports);
}

function expectSubset(parts: 'any' | readonly unknown[], before: 'any' | readonly unknown[]): void {
  if (before === 'any') return;
  expect(parts).not.toBe('any');
  for (const part of parts) expect(before).toContainEqual(part);
}

test('decodeDelivered() never throws, answers for no object but the one that was asked for, and says why it is not read', () => {
  const anything = fc.oneof(
    fc.anything(),
    broken(OBJECTS).map(({ mutant }) => mutant),
  );
  const seen = { others: 0 };
  fc.assert(
    fc.property(anything, fc.constantFrom(...OBJECTS), (object, asked) => {
      const { event, problems } = decodeDelivered(object, asked);
      if (event !== undefined) expect(event.type).toBe(EVENT_TYPES[asked.kind]);
      const { kind, apiVersion } = (object ?? {}) as { kind?: unknown; apiVersion?: unknown };
      if (kind === asked.kind && apiVersion === asked.apiVersion) return;
      seen.others++;
      expect(problems.filter(({ severity }) => severity === 'error')).not.toEqual([]);
      if (event !== undefined)
        expect(event.value).toMatchObject({
          ingress: [],
          egress: [],
          subject: { pods: { unreadable: true } },
        });
    }),
    { numRuns: 20_000 },
  );
  expect(seen.others).toBeGreaterThan(5_000);
});

const EVENT_TYPES: Readonly<Record<string, string>> = {
  NetworkPolicy: 'policy',
  ClusterNetworkPolicy: 'policy',
  AdminNetworkPolicy: 'policy',
  Pod: 'pod',
  Node: 'node',
};
