import type { V1DaemonSet, V1Pod } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import { type Removal, removeFromAllNodes } from './allnodes.ts';
import { CLEANER, cleanerOf, isParked, parked, released } from './cleaner.ts';

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
        nodeSelector: { 'kubernetes.io/os': 'linux' },
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

/** The changes that a removal makes, step by step, before it waits for the nodes. */
const REMOVED = [`delete ${CLEANER}`, `create ${CLEANER}`, 'delete sluice', `replace ${CLEANER}`];

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
        terminationMessagePolicy: 'FallbackToLogsOnError',
      },
    ]);
    expect(pod.volumes).toEqual(AGENTS.spec!.template.spec!.volumes);
  });

  test('parked it runs on no node, and released where the agent ran', () => {
    const { spec } = parked(cleanerOf(AGENTS));
    expect(spec!.template.spec!.nodeSelector).toMatchObject({ 'kubernetes.io/os': 'linux' });
    expect(Object.keys(spec!.template.spec!.nodeSelector!)).toHaveLength(2);
    const stored = { ...parked(cleanerOf(AGENTS)), metadata: { name: CLEANER, resourceVersion: '7' } };
    expect(released(stored).spec).toEqual(cleanerOf(AGENTS).spec);
    expect(released(stored).metadata).toEqual({ name: CLEANER });
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
    expect(cluster.log).toEqual([...REMOVED, `delete ${CLEANER}`]);
    expect(cluster.agentsBesideCleaners).toEqual(['ending', 'ending']);
  });

  test('names a node that is away, and leaves its cleaner waiting for it', async () => {
    const cluster = fakeCluster({ nodes: ['n1', 'n2'], away: ['n2'] });
    expect(await remove(cluster)).toEqual({ cleaned: ['n1'], missing: ['n2 (Pending)'] });
    expect(cluster.log).toEqual(REMOVED);
  });

  test('goes on where an earlier removal left off', async () => {
    const cluster = fakeCluster({ nodes: ['n1', 'n2'], away: ['n2'] });
    await remove(cluster);
    cluster.away.clear();
    expect(await remove(cluster)).toEqual({ cleaned: ['n1', 'n2'], missing: [] });
    expect(cluster.log.at(-1)).toBe(`delete ${CLEANER}`);
  });

  test.each(REMOVED.concat(`delete ${CLEANER}`).map((step, at) => [at, step] as const))(
    'killed before step %i (%s), it is finished by the next',
    async (at, step) => {
      const cluster = fakeCluster({ nodes: ['n1', 'n2'], killedAt: at });
      await expect(remove(cluster)).rejects.toThrow(`killed: ${step}`);
      expect(await remove(cluster)).toEqual({ cleaned: ['n1', 'n2'], missing: [] });
      expect(cluster.agentsBesideCleaners).toEqual(['ending', 'ending']);
      expect(cluster.left()).toEqual([]);
    },
  );

  test('changes nothing where the cleaner is refused', async () => {
    const cluster = fakeCluster({ nodes: ['n1'], killedAt: 1 });
    await expect(remove(cluster)).rejects.toThrow(`killed: create ${CLEANER}`);
    expect(cluster.left()).toEqual(['sluice']);
  });

  test.each([
    ['some nodes', 1, ['n1'], ['1 node (no pod: "kubectl describe daemonset sluice-cleaner" says why)']],
    ['all', 0, [], ['2 nodes (no pod: "kubectl describe daemonset sluice-cleaner" says why)']],
  ])('does not take nodes for clean where a quota gives %s no pod', async (_, quota, cleaned, missing) => {
    const cluster = fakeCluster({ nodes: ['n1', 'n2'], quota });
    expect(await remove(cluster)).toEqual({ cleaned, missing });
    expect(cluster.left()).toEqual([CLEANER]);
  });

  test('nor where no controller answers', async () => {
    const cluster = fakeCluster({ nodes: ['n1'], controller: false });
    expect((await remove(cluster)).missing).toEqual([expect.stringMatching(/^all other nodes \(no pod/)]);
    expect(cluster.left()).toEqual([CLEANER]);
  });

  test('asks no pods of others that have the label', async () => {
    const cluster = fakeCluster({ nodes: ['n1'], strangers: 1 });
    expect(await remove(cluster)).toEqual({ cleaned: ['n1'], missing: [] });
    expect(cluster.waitedMs()).toBeLessThan(5_000);
  });

  test('says why a cleaner failed, by the last line that it wrote', async () => {
    const message = 'sluice: one\nsluice: an agent is running here\n';
    const cluster = fakeCluster({ nodes: ['n1'], away: ['n1'], message });
    expect((await remove(cluster)).missing).toEqual(['n1 (sluice: an agent is running here)']);
  });

  test('goes by the manifest where the DaemonSet was deleted, and cleans again where all was clean', async () => {
    const cluster = fakeCluster({ nodes: ['n1'], agents: false });
    for (const _ of [1, 2]) {
      expect(await remove(cluster, AGENTS)).toEqual({ cleaned: ['n1'], missing: [] });
      expect(cluster.left()).toEqual([]);
    }
  });

  test('says where there is nothing to remove', async () => {
    const cluster = fakeCluster({ nodes: ['n1'], agents: false });
    await expect(remove(cluster)).rejects.toThrow(/^there is no DaemonSet sluice to remove: -n names/);
    expect(cluster.log).toEqual([]);
  });
});

function remove(cluster: FakeCluster, manifest?: V1DaemonSet): Promise<Removal> {
  const options = { cluster, patienceMs: 10_000, sleep: cluster.sleep, now: cluster.waitedMs };
  return removeFromAllNodes({ ...options, ...(manifest && { manifest }) });
}

type FakeCluster = ReturnType<typeof fakeCluster>;

interface FakeOptions {
  readonly nodes: readonly string[];
  readonly away?: readonly string[];
  readonly agents?: boolean;
  /** The number of the change to it which is not made. */
  readonly killedAt?: number;
  /** How many pods of the cleaner it takes. */
  readonly quota?: number;
  /** False: no controller makes the pods of a DaemonSet, or says how many there should be. */
  readonly controller?: boolean;
  /** Number of pods that have the label of both DaemonSets and belong to neither. */
  readonly strangers?: number;
  /** The message of the cleaner on a node that does not answer. */
  readonly message?: string;
}

/** Pods of a deleted DaemonSet are ordered to end a little later, and disappear later still. */
function fakeCluster(options: FakeOptions) {
  const { nodes, quota = Infinity, controller = true, strangers = 0, message } = options;
  const log: string[] = [];
  const away = new Set(options.away);
  const sets = new Map<string, V1DaemonSet>(options.agents === false ? [] : [['sluice', AGENTS]]);
  const ending = new Map<string, number>();
  let agentsBesideCleaners: readonly string[] = [];
  let nowMs = 0;
  let changes = 0;
  let killed = false;
  const change = (what: string) => {
    if (!killed && changes++ === options.killedAt) {
      killed = true;
      throw new Error(`killed: ${what}`);
    }
    log.push(what);
  };
  const runs = (set: V1DaemonSet) => controller && !isParked(set);
  const podsOf = (name: string): V1Pod[] => {
    const set = sets.get(name);
    const left = ending.get(name) ?? 0;
    if (set === undefined) {
      ending.set(name, left - 1);
      return left > 0 ? nodes.map(node => (left > 3 ? pod(name, node) : toldToEnd(pod(name, node)))) : [];
    }
    if (name !== CLEANER) return nodes.map(node => pod(name, node));
    return runs(set) ? nodes.slice(0, quota).map(node => pod(name, node, !away.has(node), message)) : [];
  };
  const put = (set: V1DaemonSet) => {
    const { name } = set.metadata!;
    const generation = (sets.get(name!)?.metadata?.generation ?? 0) + 1;
    sets.set(name!, { ...set, metadata: { ...set.metadata!, uid: `uid of ${name}`, generation } });
    if (runs(set) && name === CLEANER)
      agentsBesideCleaners = podsOf('sluice').map(({ metadata }) =>
        metadata?.deletionTimestamp ? 'ending' : 'runs',
      );
  };
  return {
    log,
    away,
    left: () => [...sets.keys()],
    waitedMs: () => nowMs,
    sleep: async (ms: number) => {
      nowMs += ms;
    },
    get agentsBesideCleaners() {
      return agentsBesideCleaners;
    },
    daemonSet: async (name: string) => {
      const found = sets.get(name);
      if (found === undefined) return undefined;
      const observedGeneration = controller ? found.metadata!.generation : 0;
      const desiredNumberScheduled = runs(found) ? nodes.length : 0;
      return { ...found, status: { observedGeneration, desiredNumberScheduled } as never };
    },
    create: async (set: V1DaemonSet) => {
      change(`create ${set.metadata!.name}`);
      put(set);
    },
    replace: async (set: V1DaemonSet) => {
      change(`replace ${set.metadata!.name}`);
      put(set);
    },
    delete: async (name: string) => {
      change(`delete ${name}`);
      if (sets.delete(name) && name !== CLEANER) ending.set(name, 5);
    },
    pods: async (name: string) => [
      ...podsOf(name),
      ...Array.from({ length: strangers }, () => ({ ...pod(name, 'n9'), metadata: {} })),
    ],
  };
}

function toldToEnd(pod: V1Pod): V1Pod {
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date(0) } };
}

function pod(name: string, nodeName: string, clean = false, message?: string): V1Pod {
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid: `uid of ${name}` };
  const waiting = { reason: 'CrashLoopBackOff' };
  const failed = { state: { waiting }, lastState: { terminated: { exitCode: 2, message } } };
  return {
    metadata: { ownerReferences: [owner] },
    spec: { nodeName, containers: [] },
    status: {
      phase: clean ? 'Running' : 'Pending',
      conditions: [{ type: 'Initialized', status: clean ? 'True' : 'False' }],
      ...(message !== undefined && { initContainerStatuses: [failed as never] }),
    },
  };
}
