import { expect, test } from 'vitest';
import { compile } from '../../compiler/compile.ts';
import { Incremental } from '../../compiler/live/incremental.ts';
import { NAMES_PODS } from '../../compiler/namespeers.ts';
import type { Address } from '../../model/address.ts';
import { ClusterState, type Pod } from '../../model/cluster.ts';
import type { Policy } from '../../model/policy.ts';
import { EVERYTHING } from '../../model/selector.ts';
import { DnsCache } from '../../names/dnscache.ts';
import type { Conntrack } from '../../nft/conntrack.ts';
import { plan } from '../../nft/plan/plan.ts';
import type { NamesKnown } from './knownnames.ts';
import { LiveConnections } from './liveconnections.ts';
import { openByName, programmedBefore } from './openbyname.ts';

const DNS_QUEUE = { queue: 'nft', resolvers: ['10.96.0.10' as Address] } as const;

/** shop/web may go to names and to 198.51.100.0/24, and nowhere else. */
function events(...names: string[]) {
  const pod: Pod = {
    key: 'shop/web',
    namespace: 'shop',
    name: 'web',
    labels: {},
    node: 'n1',
    addresses: ['10.1.0.1' as Address],
    hostNetwork: false,
    finished: false,
    createdAt: '',
    ports: [],
  };
  const network = (base: string, prefix: number) => ({
    kind: 'network',
    cidr: { family: 'ip', base: base as Address, prefix },
    except: [],
  });
  const policy = {
    id: 'ClusterNetworkPolicy//logs',
    kind: 'ClusterNetworkPolicy',
    name: 'logs',
    tier: 'admin',
    order: 10,
    priority: 10,
    subject: { namespaces: { kind: 'labels', selector: EVERYTHING }, pods: EVERYTHING },
    egress: [
      {
        path: 'egress[0]',
        action: 'accept',
        peers: names.map(name => ({ kind: 'domain', name })),
        ports: 'any',
      },
      { path: 'egress[1]', action: 'accept', peers: [network('198.51.100.0', 24)], ports: 'any' },
      { path: 'egress[2]', action: 'deny', peers: [network('0.0.0.0', 0)], ports: 'any' },
    ],
  } as unknown as Policy;
  return [
    { type: 'namespace', key: 'shop', value: { name: 'shop', labels: {} } },
    { type: 'pod', key: pod.key, value: pod },
    { type: 'policy', key: policy.id, value: policy },
  ] as const;
}

function made(...names: string[]) {
  const incremental = new Incremental('n1', 'allow', 'others', DNS_QUEUE);
  const cluster = new ClusterState();
  for (const event of events(...names)) {
    incremental.apply(event);
    cluster.apply(event);
  }
  const ruleset = incremental.flush();
  expect(plan(ruleset, compile(cluster, 'n1', 'allow', 'others', DNS_QUEUE))).toEqual([]);
  return { ruleset, subjects: incremental.namesSubjects };
}

function open(...peers: string[]): Conntrack {
  const read: Conntrack['read'] = async (_, wanted, visit) => {
    for (const to of peers) {
      const flow = { from: '10.1.0.1' as Address, to: to as Address, protocol: 'TCP', port: 443 } as const;
      if (wanted(flow)) visit({ flow, handle: new Uint8Array() });
    }
  };
  return { missingFeatures: [], read, has: async () => true, delete: async () => 0, close: () => {} };
}

async function adopted(before: readonly string[], after: readonly string[], ...peers: string[]) {
  const [was, is] = [made(...before), made(...after)];
  const inherited = programmedBefore(is.subjects, plan(was.ruleset, is.ruleset), NAMES_PODS);
  const cache = new DnsCache();
  cache.record([
    {
      pod: 'shop/web',
      address: '192.0.2.9' as Address,
      name: 'n.example',
      toldMs: 0,
      untilMs: 9,
      oneOf: [...after],
    },
  ]);
  return openByName({
    conntrack: open(...peers),
    ruleset: is.ruleset,
    own: new Set(),
    inherited,
    cache,
    nowMs: 0,
  });
}

test('C41: openByName() knows what only a rule by name can have allowed, and nothing else', async () => {
  const found = await adopted(['a.example'], ['a.example'], '192.0.2.1', '198.51.100.1', '192.0.2.9');
  expect(found).toEqual([
    {
      pod: 'shop/web',
      address: '192.0.2.1',
      name: '@open 192.0.2.1',
      toldMs: 0,
      untilMs: 0,
      oneOf: ['a.example'],
    },
  ]);
});

test('openByName() has the names of a pod once, however many connections are open', async () => {
  const [first, second] = await adopted(
    ['a.example', 'b.example'],
    ['a.example', 'b.example'],
    '192.0.2.1',
    '192.0.2.2',
  );
  expect(first!.oneOf).toEqual(['a.example', 'b.example']);
  expect(second!.oneOf).toBe(first!.oneOf);
});

test('openByName() takes nothing over where the names are others, or are new', async () => {
  expect(await adopted(['a.example'], ['b.example'], '192.0.2.1')).toEqual([]);
  expect(await adopted([], ['a.example'], '192.0.2.1')).toEqual([]);
});

test('C58: what was left alone while nobody knew what pods were told is cut once that is known, at whatever start', async () => {
  const { ruleset, subjects } = made('a.example');
  const known = Promise.withResolvers<void>();
  let cache: DnsCache | undefined;
  const names: NamesKnown = {
    subjects,
    get cache() {
      return cache;
    },
    known: () => known.promise,
    synced: async () => {}, // the first start has failed
  };
  const cut: string[] = [];
  const conntrack: Conntrack = {
    ...open('192.0.2.1', '192.0.2.2', '198.51.100.1'),
    delete: async connections => cut.push(...connections.map(({ flow }) => flow.to)),
  };
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const again = { againMs: 1 << 30 };
  const live = new LiveConnections({ conntrack, ownAddresses: () => new Set(), log, names, ...again });
  const ops = plan({ tables: new Map() }, ruleset);
  live.committed({ cluster: new ClusterState(), ruleset, ops, unknownBefore: false });
  await live.settled();
  await new Promise(setImmediate);
  expect(cut).toEqual([]);
  cache = new DnsCache();
  cache.record([
    { pod: 'shop/web', address: '192.0.2.2' as Address, name: 'a.example', toldMs: 0, untilMs: 0 },
  ]);
  known.resolve();
  await new Promise(setImmediate);
  await live.settled();
  expect(cut).toEqual(['192.0.2.1']);
  live.close();
});
