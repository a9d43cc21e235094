import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { AskedApi } from '../../../test/support/api/askedapi.ts';
import { asMap, asMaps } from '../../inputs/kube/report/identity.ts';
import { flagsOf, readAgentFlags } from './agentflags.ts';

const ROOT = join(import.meta.dirname, '../../..');
const MANIFEST = join(ROOT, 'daemonset/base/daemonset.yaml');
const NODES = 3;

interface Changes {
  readonly metadata?: object;
  readonly status?: object;
  readonly pods?: object;
  readonly container?: object;
}

/** The DaemonSet that `daemonset/` installs, rolled out to all nodes, with more arguments and other changes. */
function daemonSet(args: readonly string[], { metadata, status, pods, container }: Changes = {}) {
  const object = asMap(load(readFileSync(MANIFEST, 'utf8')));
  const { template } = asMap(object.spec);
  const spec = asMap(asMap(template).spec);
  const [agent] = asMaps(spec.containers);
  const containers = [{ ...agent, args: [...(agent!.args as readonly string[]), ...args], ...container }];
  const counts = { desiredNumberScheduled: NODES, updatedNumberScheduled: NODES, numberReady: NODES };
  return {
    metadata: { ...asMap(object.metadata), generation: 4, ...metadata },
    spec: { template: { spec: { ...spec, containers, ...pods } } },
    status: { observedGeneration: 4, ...counts, ...status },
  };
}

const flags = (...daemonSets: readonly object[]) => flagsOf(daemonSets, 'sluice', NODES);
const DENIES = ['--unknown-pods=deny'];

test.each([
  [['--unknown-pods=deny'], 'deny', 'deny'],
  [['--unknown-pods', 'allow', '--start-gate=nri'], 'allow', 'deny'],
  [['--unknown-pods=deny', '--unknown-pods=allow'], 'allow', 'deny'], // the last counts, as for the agent
  [['--start-gate=nri'], 'deny', 'deny'],
  [['--start-gate=off'], 'allow', 'deny'],
  [['--start-gate=off', '--pod-network=attach'], 'deny', 'deny'],
  [['--pod-network=chained', '--cni-bin-dir=/opt/cni/bin'], 'deny', 'deny'],
  [['--unknown-pods=deny', '--pod-tunnels=allow', '--denials=0', '--count-rules'], 'deny', 'allow'],
])('flagsOf() agents with %j: unknown pods %s, tunnels of pods %s', (args, unknownPods, podTunnels) => {
  expect(flags(daemonSet(args))).toEqual({ unknownPods, podTunnels });
});

test('flagsOf() agents that look for NRI themselves leaves unknown pods open, and says why', () => {
  expect(flags(daemonSet([]))).toEqual({
    podTunnels: 'deny',
    why: 'DaemonSet sluice leaves it to each node (by default they deny where the runtime offers NRI)',
  });
});

test('flagsOf() agents that are not root reads the command of the chart', () => {
  const chart = readFileSync(join(ROOT, 'charts/sluice/templates/daemonset.yaml'), 'utf8');
  const command = /^ *command: \[(.*)\]$/m.exec(chart)![1]!.split(', ');
  expect(flags(daemonSet(DENIES, { container: { command } }))).toMatchObject({ unknownPods: 'deny' });
});

test.each<[string, readonly string[], Changes]>([
  ['a value that the agent would refuse', ['--unknown-pods=perhaps'], {}],
  ['an option that it does not know', ['--unknown-pods=deny', '--unknown-podz=allow'], {}],
  ['options that contradict each other', ['--unknown-pods=deny', '--cni-conf-dir=/etc/cni/net.d'], {}],
  ['a value of the environment', ['--unknown-pods=$(UNKNOWN)'], {}],
  ['more options of the environment', ['--unknown-pods=deny', '$(MORE)'], {}],
  ['the name of the node as an option', ['--unknown-pods=deny', '$(NODE_NAME)'], {}],
  ['help', ['--unknown-pods=deny', '--help'], {}],
  ['another cluster', ['--unknown-pods=deny', '--kubeconfig=/etc/other'], {}],
  ['a folder', ['--unknown-pods=deny', '--manifests=/etc/policies'], {}],
  ['another command', [], { container: { args: ['status'] } }],
  ['no arguments', [], { container: { args: undefined } }],
  ['arguments that are no texts', [], { container: { args: ['agent', '--node', 'n1', 7] } }],
  ['a shell', DENIES, { container: { command: ['sh', '-c', 'sluice agent --unknown-pods=allow'] } }],
  ['a container of another name', DENIES, { container: { name: 'other' } }],
  ['pods on a network of their own', DENIES, { pods: { hostNetwork: false } }],
  ['no container', DENIES, { pods: { containers: [] } }],
])('flagsOf() a DaemonSet with %s knows nothing', (_, args, changes) => {
  expect(flags(daemonSet(args, changes))).toEqual({ why: 'what DaemonSet sluice starts is not understood' });
});

test.each<[Changes, string]>([
  [{ status: { observedGeneration: 3 } }, 'DaemonSet sluice has just been changed'],
  [
    { status: { updatedNumberScheduled: 1 } },
    'DaemonSet sluice is being rolled out: 1 of 3 nodes have its latest version',
  ],
  [
    { status: { updatedNumberScheduled: undefined } },
    'DaemonSet sluice is being rolled out: 0 of 3 nodes have its latest version',
  ],
  [{ status: { numberReady: 2 } }, 'DaemonSet sluice is ready on 2 of 3 nodes'],
  [{ metadata: { deletionTimestamp: '2026-11-28T10:00:00Z' } }, 'DaemonSet sluice is being deleted'],
  [
    { status: { desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 2 } },
    'their DaemonSet is for 2 of 3 nodes',
  ],
  [{ status: { desiredNumberScheduled: 0 } }, 'their DaemonSet is for 0 of 3 nodes'],
])('flagsOf() a DaemonSet with %j knows nothing', (changes, why) => {
  expect(flags(daemonSet(DENIES, changes))).toEqual({ why });
});

test('flagsOf() several DaemonSets knows what they agree on, for all nodes together', () => {
  const part = (nodes: number, args = DENIES) => {
    const status = { desiredNumberScheduled: nodes, updatedNumberScheduled: nodes, numberReady: nodes };
    return daemonSet(args, { status });
  };
  expect(flags(part(1), part(2))).toEqual({ unknownPods: 'deny', podTunnels: 'deny' });
  const why = 'their DaemonSets in namespace sluice differ';
  expect(flags(part(1), part(2, ['--unknown-pods=allow']))).toEqual({ why });
  expect(flags(part(1), part(2, [...DENIES, '--pod-tunnels=allow']))).toEqual({ why });
  expect(flags(part(3), part(3))).toEqual({ why: 'their DaemonSet is for 6 of 3 nodes' });
  expect(flags(part(1), {})).toEqual({ why: 'what DaemonSet (no name) starts is not understood' });
  expect(flags()).toEqual({
    why: 'there is no DaemonSet of them in namespace sluice (--agents names another)',
  });
});

test('readAgentFlags() reads the namespace of the agents alone, whatever others have made elsewhere', async () => {
  const inNamespace = (namespace: string, args: readonly string[]) => ({
    ...{ apiVersion: 'apps/v1', kind: 'DaemonSet' },
    ...daemonSet(args, { metadata: { namespace } }),
  });
  const objects = [inNamespace('sluice', DENIES), inNamespace('shop', ['--unknown-pods=allow'])];
  const read = async (namespace: string, ...forbidden: readonly string[]) => {
    const { signal } = new AbortController();
    return (await readAgentFlags(new AskedApi(objects, forbidden), namespace, signal))(NODES);
  };
  expect(await read('sluice')).toEqual({ unknownPods: 'deny', podTunnels: 'deny' });
  expect(await read('shop')).toMatchObject({ unknownPods: 'allow' });
  expect(await read('platform')).toEqual({ why: expect.stringContaining('--agents names another') });
  expect(await read('sluice', 'daemonsets')).toEqual({
    why: 'you may not list daemonsets in namespace sluice',
  });
});
