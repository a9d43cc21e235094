/**
 * On a kernel without packet queues, rules by name match nothing, and all other rules are as they would be without
 * them.
 */
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { decodeObject } from '../inputs/kube/decode/decode.ts';
import { type Address, FAMILIES } from '../model/address.ts';
import { ClusterState } from '../model/cluster.ts';
import { plan } from '../nft/plan/plan.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { compile } from './compile.ts';
import { Incremental } from './live/incremental.ts';

const NAMES = 'domainNames: [www.example.org, "*.example.net"]';
const DNS_QUEUE = { queue: 'nft', resolvers: ['10.96.0.10' as Address] } as const;

const manifests = (peer: string) => `
apiVersion: v1
kind: Namespace
metadata: { name: shop, labels: { kubernetes.io/metadata.name: shop } }
---
apiVersion: v1
kind: Pod
metadata: { name: web, namespace: shop, labels: { app: web } }
spec: { nodeName: n1, containers: [{ name: c, image: c }] }
status: { phase: Running, podIP: 10.1.0.10, podIPs: [{ ip: 10.1.0.10 }, { ip: 'fd00:1::10' }] }
---
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: logs }
spec:
  tier: Admin
  priority: 10
  subject: { namespaces: {} }
  egress:
  - { name: near, action: Accept, to: [{ networks: [10.9.0.0/16] }] }
  - { name: logs, action: Accept, to: [{ ${peer} }, { networks: [192.0.2.0/24] }], protocols: [{ tcp: { destinationPort: { number: 443 } } }] }
  - { name: nowhere, action: Deny, to: [{ networks: [0.0.0.0/0] }] }
`;

function events(peer: string) {
  return parseAllDocuments(manifests(peer)).map(document => {
    const { event, problems } = decodeObject(document.toJS());
    expect(problems).toEqual([]);
    return event!;
  });
}

function compiled(peer: string, dnsQueue?: typeof DNS_QUEUE): Ruleset {
  const cluster = new ClusterState();
  const incremental = new Incremental('n1', 'allow', 'others', dnsQueue);
  for (const event of events(peer)) {
    cluster.apply(event);
    incremental.apply(event);
  }
  const ruleset = compile(cluster, 'n1', 'allow', 'others', dnsQueue);
  expect(plan(incremental.flush(), ruleset)).toEqual([]);
  expect(incremental.isNaming).toBe(peer === NAMES); // the check `names` says that they match nothing
  return ruleset;
}

/** The chains without those that drop forged answers, which any cluster with rules by name has, whatever its kernel. */
function withoutForgeryRules({ tables }: Ruleset) {
  return FAMILIES.map(family => {
    const chains = new Map(tables.get(family)!.chains);
    expect(chains.delete('names-replies')).toBe(true);
    const forward = chains.get('forward')!;
    const rules = forward.rules.filter(({ exprs }) => !JSON.stringify(exprs).includes('names-replies'));
    expect(rules.length).toBe(forward.rules.length - 1);
    return { chains: [...chains.set('forward', { ...forward, rules }).values()].map(textOf), family };
  });
}

/** The text of a chain without hashes, because the hash in its name depends on its definition. */
const textOf = (chain: unknown) => JSON.stringify(chain).replaceAll(/-[0-9A-Z]{26}/g, '');

test('rules by name match nothing without a queue, and all other rules are as they are without names', () => {
  const unsupported = compiled(NAMES);
  const without = compiled('networks: [192.0.2.0/24]');
  const chainsOf = (ruleset: Ruleset) =>
    FAMILIES.map(family => ({
      chains: [...ruleset.tables.get(family)!.chains.values()].map(textOf),
      family,
    }));
  expect(withoutForgeryRules(unsupported)).toEqual(chainsOf(without));
  for (const family of FAMILIES)
    expect([...unsupported.tables.get(family)!.sets.keys()].filter(name => name.startsWith('names'))).toEqual(
      [],
    );
});

test('with a queue each of the names has a set', () => {
  const sets = [...compiled(NAMES, DNS_QUEUE).tables.get('ip')!.sets.keys()];
  expect(sets.filter(name => /^names-[0-9A-Z]{26}/.test(name))).toHaveLength(2);
});
