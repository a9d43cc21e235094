import type { V1DaemonSet, V1Pod } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import type { AgentCluster } from './agentcluster.ts';
import { type Removal, removeFromAllNodes } from './allnodes.ts';
import { CLEANER, cleanerOf } from './cleaner.ts';

const AGENTS: V1DaemonSet = {
  metadata: { name: 'sluice', namespace: 'platform' },
  spec: {
    selector: { matchLabels: { 'app.kubernetes.io/name': 'sluice' } },
    template: {
      metadata: { labels: { 'app.kubernetes.io/name': 'sluice' } },
      spec: {
        serviceAccountName: 'sluice',
        terminationGracePeriodSeconds: 15,
        hostNetwork: true,
        tolerations: [{ operator: 'Exists' }],
        containers: [
          {
            name: 'agent',
            image: 'registry/sluice:0.1.0',
            imagePullPolicy: 'Never',
            command: ['keepcaps', 'node'],
            args: [
              'agent',
              '--node',
              '$(NODE_NAME)',
              '--pod-network=attach',
              '--cni-conf-dir=/etc/cni/net.d',
            ],
            env: [{ name: 'NODE_NAME', value: 'n1' }],
            livenessProbe: { httpGet: { port: 9910 } },
            resources: { limits: { memory: '1Mi' } },
            securityContext: { capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } },
            volumeMounts: [{ name: 'cni-conf', mountPath: '/etc/cni/net.d' }],
          },
        ],
        volumes: [{ name: 'cni-conf', hostPath: { path: '/k3s/net.d' } }],
      },
    },
  },
};

describe('cleanerOf()', () => {
  const { metadata, spec } = cleanerOf(AGENTS);
  const pod = spec!.template.spec!;

  test('runs where the agent ran, and is found by a label of its own', () => {
    expect(metadata).toMatchObject({ name: CLEANER, namespace: 'platform' });
    expect(spec!.selector.matchLabels).toEqual(spec!.template.metadata!.labels);
    expect(spec!.selector.matchLabels).not.toEqual(AGENTS.spec!.selector.matchLabels);
    expect(pod).toMatchObject({ hostNetwork: true, tolerations: [{ operator: 'Exists' }] });
  });

  test('removes with the powers, folders and CNI arguments of the agent, and no other argument', () => {
    expect(pod.initContainers).toEqual([
      {
        name: 'clean',
        image: 'registry/sluice:0.1.0',
        imagePullPolicy: 'Never',
        command: ['keepcaps', 'node'],
        args: ['uninstall', '--after-agent=16', '--cni-conf-dir=/etc/cni/net.d'],
        securityContext: { capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] } },
        volumeMounts: [{ name: 'cni-conf', mountPath: '/etc/cni/net.d' }],
      },
    ]);
    expect(pod.volumes).toEqual(AGENTS.spec!.template.spec!.volumes);
  });

  test('then waits without any power, and needs no ServiceAccount that may be gone', () => {
    expect(pod.containers[0]!.securityContext!.capabilities).toEqual({ drop: ['ALL'] });
    expect(pod.serviceAccountName).toBeUndefined();
    expect(pod.automountServiceAccountToken).toBe(false);
  });
});

describe('removeFromAllNodes()', () => {
  test('tells all agents to end before the cleaners start, and takes the cleaners away when all nodes are clean', async () => {
    const cluster = fakeCluster({ nodes: ['n2', 'n1'] });
    expect(await remove(cluster)).toEqual({ cleaned: ['n1', 'n2'], missing: [] });
    expect(cluster.log).toEqual([
      `delete ${CLEANER}`,
      'delete sluice',
      `create ${CLEANER}`,
      `delete ${CLEANER}`,
    ]);
    expect(cluster.agentsBesideCleaners).toEqual(['ending', 'ending']);
  });

  test('names a node that is away, and leaves its cleaner waiting for it', async () => {
    const cluster = fakeCluster({ nodes: ['n1', 'n2'], away: ['n2'] });
    expect(await remove(cluster)).toEqual({ cleaned: ['n1'], missing: ['n2 (Pending)'] });
    expect(cluster.log.at(-1)).toBe(`create ${CLEANER}`);
  });

  test('goes on where an earlier removal left off', async () => {
    const cluster = fakeCluster({ nodes: ['n1', 'n2'], away: ['n2'] });
    await remove(cluster);
    cluster.away.clear();
    expect(await remove(cluster)).toEqual({ cleaned: ['n1', 'n2'], missing: [] });
    expect(cluster.log.at(-1)).toBe(`delete ${CLEANER}`);
  });

  test('says where there is nothing to remove', async () => {
    const cluster = fakeCluster({ nodes: ['n1'], agents: false });
    await expect(remove(cluster)).rejects.toThrow(/^there is no DaemonSet sluice to remove: -n names/);
    expect(cluster.log).toEqual([]);
  });
});

function remove(cluster: AgentCluster): Promise<Removal> {
  let nowMs = 0;
  const sleep = async (ms: number) => {
    nowMs += ms;
  };
  return removeFromAllNodes({ cluster, patienceMs: 10_000, sleep, now: () => nowMs });
}

interface FakeOptions {
  readonly nodes: readonly string[];
  readonly away?: readonly string[];
  readonly agents?: boolean;
}

/** Pods of a deleted DaemonSet are told to end a little later, and go later still. */
function fakeCluster({ nodes, away: gone = [], agents = true }: FakeOptions) {
  const log: string[] = [];
  const away = new Set(gone);
  const sets = new Map<string, V1DaemonSet>(agents ? [['sluice', AGENTS]] : []);
  const ending = new Map<string, number>();
  let agentsBesideCleaners: readonly string[] = [];
  const podsOf = (name: string): V1Pod[] => {
    const left = ending.get(name) ?? 0;
    if (!sets.has(name)) {
      ending.set(name, left - 1);
      return left > 0 ? nodes.map(node => (left > 3 ? pod(node, false) : toldToEnd(pod(node, false)))) : [];
    }
    return nodes.map(node => pod(node, !away.has(node)));
  };
  return {
    log,
    away,
    get agentsBesideCleaners() {
      return agentsBesideCleaners;
    },
    daemonSet: async (name: string) => {
      const found = sets.get(name);
      return found && { ...found, status: { desiredNumberScheduled: nodes.length } as never };
    },
    create: async (daemonSet: V1DaemonSet) => {
      agentsBesideCleaners = podsOf('sluice').map(({ metadata }) =>
        metadata?.deletionTimestamp ? 'ending' : 'runs',
      );
      sets.set(daemonSet.metadata!.name!, daemonSet);
      log.push(`create ${daemonSet.metadata!.name}`);
    },
    delete: async (name: string) => {
      if (sets.delete(name)) ending.set(name, 5);
      log.push(`delete ${name}`);
    },
    pods: async (name: string) => podsOf(name),
  };
}

function toldToEnd(pod: V1Pod): V1Pod {
  return { ...pod, metadata: { deletionTimestamp: new Date(0) } };
}

function pod(nodeName: string, clean: boolean): V1Pod {
  return {
    spec: { nodeName, containers: [] },
    status: {
      phase: clean ? 'Running' : 'Pending',
      conditions: [{ type: 'Initialized', status: clean ? 'True' : 'False' }],
    },
  };
}
