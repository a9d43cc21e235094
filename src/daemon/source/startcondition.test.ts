/** When the agent may start, against an API server that refuses some of what is asked of it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { apiClusterPolicy, apiDefinition } from '../../../test/support/api/objects.ts';
import type { FakeApiServer } from '../../../test/support/api/server.ts';
import { startShop } from '../../../test/support/api/shop.ts';
import { until } from '../../../test/support/until.ts';
import { compile } from '../../compiler/compile.ts';
import { watchCluster } from '../../inputs/kube/watch/source.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { parseAddress, parseCidr } from '../../model/address.ts';
import { ClusterState } from '../../model/cluster.ts';
import type { Policy, PolicyKind, PortMatch, Rule } from '../../model/policy.ts';
import { EVERYTHING } from '../../model/selector.ts';
import { madeFrom, missingKinds, StartCondition } from './startcondition.ts';

let server: FakeApiServer;
let stop: AbortController;
let closers: (() => Promise<void>)[];

beforeEach(async () => {
  server = await startShop();
  stop = new AbortController();
  closers = [];
});

afterEach(async () => {
  stop.abort();
  for (const close of closers) await close();
  await server.stop();
});

/** Watches the server, by a clock that is fast; answers what became of it so far. */
function watch(inForce: readonly string[] = [], refusals: readonly Error[] = []) {
  const log: string[] = [];
  const left = [...refusals];
  const state = new ClusterState();
  const condition = new StartCondition({
    rulesInForce: async () => {
      const refusal = left.shift();
      if (refusal !== undefined) throw refusal;
      return new Set(inForce);
    },
    log: { error: (_: object, message: string) => void log.push(message) } as never,
    timing: { sleep: (ms, signal) => sleep(ms / 20, signal) },
  });
  const { ready, close } = watchCluster(server.access, {
    onEvents: events => {
      for (const event of events) state.apply(event);
    },
    onProblems: () => {},
    onSource: status => condition.onSource(status),
  });
  closers.push(close);
  let started = false;
  const starting = condition.mayStart(ready, stop.signal).then(() => {
    started = true;
  });
  return { log, state, starting, hasStarted: () => started };
}

/** Comes when the server was asked for them so often. */
const asked = (plural: string, times: number) =>
  expect
    .poll(() => server.requests.filter(({ path }) => path.endsWith(`/${plural}`)).length, { timeout: 20_000 })
    .toBeGreaterThanOrEqual(times);

const refuse = (...plurals: readonly string[]) => {
  server.fault = ({ path }) =>
    plurals.some(plural => path.endsWith(`/${plural}`)) ? { type: 'status', code: 403 } : undefined;
};

describe('the agent', () => {
  test('starts when all was read, and says nothing of it', async () => {
    const { starting, log, state } = watch();
    await starting;
    expect([log, state.nodes.size]).toEqual([[], 1]);
  });

  test.each([
    ['nodes', 'Node'],
    ['namespaces', 'Namespace'],
    ['customresourcedefinitions', 'ClusterNetworkPolicy, AdminNetworkPolicy, BaselineAdminNetworkPolicy'],
  ])('starts without %s that it may not read, with all that it knows', async (plural, missing) => {
    refuse(plural);
    const { starting, log, state } = watch();
    await starting;
    expect([...state.policies.keys(), ...state.pods.keys()]).toEqual(['NetworkPolicy shop/web', 'shop/web']);
    expect(log).toEqual([
      `${missing} cannot be read: what is known is put in force, what is not known allows nothing`,
    ]);
  });

  test.each(['pods', 'networkpolicies'])('waits for %s: nothing is known without', async plural => {
    refuse(plural);
    const { starting, hasStarted } = watch();
    await asked(plural, 3);
    expect(hasStarted()).toBe(false);
    refuse();
    await starting;
  });

  test('waits for what rules in force were made from, says so once, and starts when it can be read', async () => {
    refuse('nodes');
    const { starting, hasStarted, log, state } = watch(['Node']);
    await expect.poll(() => log).toHaveLength(1);
    await asked('nodes', 3);
    expect([hasStarted(), log]).toEqual([
      false,
      ['Node cannot be read, and rules in force were made from them: they stay as they are until they can'],
    ]);
    refuse();
    await starting;
    expect(state.nodes.size).toBe(1);
  });

  test.each([
    ['in no version that is one', apiDefinition(['next'])],
    ['not yet, or no longer', apiDefinition(['v1beta1'], false)],
  ])('waits for policies that rules in force were made from while they are served %s', async (_, served) => {
    server.put(apiDefinition(['v1beta1']));
    server.put(apiClusterPolicy('platform', 5));
    server.put(served);
    const { starting, hasStarted, log, state } = watch(['ClusterNetworkPolicy']);
    await until('a word', () => log.length > 0);
    expect([hasStarted(), log]).toEqual([
      false,
      [expect.stringContaining('rules in force were made from them: they stay as they are until they can')],
    ]);
    server.put(apiDefinition(['v1beta1']));
    await starting;
    expect([...state.policies.keys()]).toContain('ClusterNetworkPolicy platform');
  });

  test('waits for the kernel to say what rules in force were made from, as for any source', async () => {
    refuse('nodes');
    const answers = [new Error('EAGAIN: the tables cannot be read')];
    const { starting, log } = watch([], answers);
    await starting;
    expect(log).toEqual([
      'Node cannot be read, and the kernel does not say whether rules in force were made from them, which stay as they are: EAGAIN: the tables cannot be read',
      'Node cannot be read: what is known is put in force, what is not known allows nothing',
    ]);
  });

  test('starts without policies that are served in no version, where no rules in force were made from them', async () => {
    server.put(apiDefinition(['next']));
    const { starting, log } = watch();
    await starting;
    expect(log).toEqual([
      'ClusterNetworkPolicy cannot be read: what is known is put in force, what is not known allows nothing',
    ]);
  });

  test('ends its wait at the signal', async () => {
    refuse('pods');
    const { starting } = watch();
    stop.abort();
    await starting;
  });
});

describe('missingKinds()', () => {
  const read = { Namespace: 'synced', NetworkPolicy: 'synced', Pod: 'synced' } as const;
  const absent = {
    ClusterNetworkPolicy: 'absent',
    AdminNetworkPolicy: 'absent',
    BaselineAdminNetworkPolicy: 'absent',
  } as const;
  test.each([
    ['nothing where one is still being read', { ...read, ...absent }, undefined],
    ['nothing where one that is needed is lost', { ...absent, Node: 'lost', Pod: 'lost' }, undefined],
    ['nothing where all was read', { ...read, ...absent, Node: 'synced' }, undefined],
    ['a kind that is lost', { ...read, ...absent, Node: 'lost' }, ['Node']],
    [
      'a kind whose definition is lost',
      {
        ...read,
        ...absent,
        Node: 'synced',
        AdminNetworkPolicy: 'x',
        'CustomResourceDefinition adminnetworkpolicies': 'lost',
      },
      ['AdminNetworkPolicy'],
    ],
  ] as const)('answers %s', (_, states, missing) => {
    const entries = Object.entries(states).filter(([, state]) => state !== 'x');
    expect(missingKinds(new Map(entries as never))).toEqual(missing);
  });
});

describe('madeFrom()', () => {
  const clusterWith = (kind?: PolicyKind, tier: Policy['tier'] = 'admin', ports: Rule['ports'] = 'any') => {
    const state = new ClusterState();
    const podCidrs = ['10.0.0.0/24'];
    state.apply({ type: 'node', key: 'n1', value: { name: 'n1', labels: {}, addresses: [], podCidrs } });
    const subject = { namespaces: { kind: 'name', name: 'shop' }, pods: EVERYTHING } as const;
    const rest = { hostNetwork: false, finished: false, createdAt: '', ports: [], labels: {} };
    const key = 'shop/web';
    const value = {
      key,
      namespace: 'shop',
      name: 'web',
      node: 'n1',
      addresses: ['10.0.0.1'],
      ...rest,
    } as never;
    state.apply({ type: 'pod', key, value });
    if (kind === undefined) return state;
    const ingress = [{ path: 'ingress[0]', action: 'deny', peers: 'any', ports }] as const;
    const policy: Policy = { id: `${kind} x`, kind, name: 'x', tier, order: 0, subject, ingress };
    state.apply({ type: 'policy', key: policy.id, value: policy });
    return state;
  };

  test.each(['ClusterNetworkPolicy', 'AdminNetworkPolicy'] as const)('sees rules of a %s', kind => {
    expect(madeFrom(compile(clusterWith(kind), 'n1'))).toContain(kind);
  });

  test.each([1, 2, 80])('sees a policy of the cluster that denies ranges of %i ports to everybody', width => {
    const ports = Array.from({ length: 30 }, (_, i): PortMatch => {
      const first = 1000 + 100 * i;
      return { kind: 'range', protocol: 'TCP', first, last: first + width - 1 };
    });
    const ruleset = compile(clusterWith('ClusterNetworkPolicy', 'admin', ports), 'n1');
    expect(madeFrom(ruleset)).toContain('ClusterNetworkPolicy');
  });

  test('sees rules of the baseline tier, and that unknown pods are denied', () => {
    const ruleset = compile(clusterWith('BaselineAdminNetworkPolicy', 'baseline'), 'n1', 'deny');
    expect(madeFrom(ruleset)).toContain('BaselineAdminNetworkPolicy');
    expect(madeFrom(ruleset)).toContain('Node');
  });

  test('sees that rules ask for the labels of namespaces', () => {
    const cluster = clusterWith();
    const team = { requirements: [{ key: 'team', operator: 'In', values: ['a'] }] } as const;
    const selector = { namespaces: { kind: 'labels', selector: team }, pods: EVERYTHING } as const;
    const peers = [{ kind: 'pods', selector }] as const;
    const subject = { namespaces: { kind: 'name', name: 'shop' }, pods: EVERYTHING } as const;
    const value: Policy = {
      id: 'NetworkPolicy shop/x',
      kind: 'NetworkPolicy',
      name: 'shop/x',
      tier: 'networkpolicy',
      order: 0,
      subject,
      ingress: [{ path: 'ingress[0]', action: 'accept', peers, ports: 'any' }],
    };
    cluster.apply({ type: 'policy', key: value.id, value });
    expect(madeFrom(compile(cluster, 'n1'))).toEqual(new Set(['Namespace']));
  });

  test('sees that a network is denied which contains a node', () => {
    const cluster = clusterWith('ClusterNetworkPolicy');
    const { ingress: _, ...policy } = [...cluster.policies.values()][0]!;
    const cidr = parseCidr('192.0.2.0/24')!;
    const rule = { path: 'egress[0]', action: 'deny', ports: 'any' } as const;
    const egress = [{ ...rule, peers: [{ kind: 'network', cidr, except: [] }] }] as const;
    cluster.apply({ type: 'policy', key: policy.id, value: { ...policy, egress } });
    expect(madeFrom(compile(cluster, 'n1'))).not.toContain('Node');
    const value = { ...cluster.nodes.get('n1')!, name: 'n2', addresses: [parseAddress('192.0.2.7')!] };
    cluster.apply({ type: 'node', key: 'n2', value });
    expect(madeFrom(compile(cluster, 'n1'))).toContain('Node');
  });

  test('sees nothing where there is nothing', () => {
    expect(madeFrom({ tables: new Map() })).toEqual(new Set());
    expect(madeFrom(compile(clusterWith(), 'n1'))).toEqual(new Set());
  });
});
