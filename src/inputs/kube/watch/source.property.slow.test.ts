/** Whatever the API server and the network do, a watch finally has the server's state. */
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FollowedCluster, isSameState, stateOf } from '../../../../test/support/api/clusterwatch.ts';
import { type Disturbance, disturb } from '../../../../test/support/api/disturb.ts';
import {
  apiClusterPolicy,
  apiDefinition,
  apiNamespace,
  apiNetworkPolicy,
  apiNode,
  apiPod,
} from '../../../../test/support/api/objects.ts';
import { FakeApiServer, type Fault, type KubeObject } from '../../../../test/support/api/server.ts';
import { runs } from '../../../../test/support/seed.ts';
import { until } from '../../../../test/support/until.ts';

const RUNS = runs(60, 60);
const CRD = 'clusternetworkpolicies.policy.networking.k8s.io';

type Step =
  | { readonly do: 'put'; readonly object: KubeObject }
  | { readonly do: 'delete'; readonly kind: string; readonly name: string }
  | { readonly do: 'fault'; readonly fault: Fault; readonly requests: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: Disturbance | 'restart' | 'token' };

const names = fc.constantFrom('a/x', 'a/y', 'a/z', 'b/x', 'b/y');
const labels = fc.constantFrom<Record<string, string>>({}, { app: 'web' }, { app: 'db' });
const objects: fc.Arbitrary<KubeObject> = fc.oneof(
  fc.tuple(names, fc.constantFrom('10.0.0.1', '10.0.0.2', '10.0.0.3'), labels).map(pod => apiPod(...pod)),
  fc.tuple(names, fc.constantFrom('web', 'db')).map(policy => apiNetworkPolicy(...policy)),
  fc.tuple(fc.constantFrom('a', 'b'), labels).map(namespace => apiNamespace(...namespace)),
  fc.constantFrom('n1', 'n2').map(name => apiNode(name, '192.168.0.1')),
  fc
    .tuple(fc.constantFrom('p', 'q'), fc.integer({ min: 0, max: 9 }))
    .map(policy => apiClusterPolicy(...policy)),
  fc
    .constantFrom(['v1alpha2'], ['v1beta1'], ['v1alpha2', 'v1beta1'])
    .map(versions => apiDefinition(versions)),
);
const faults: fc.Arbitrary<Fault> = fc.oneof(
  fc.constantFrom(401, 403, 404, 410, 429, 500, 503).map(code => ({ type: 'status', code }) as const),
  fc.constantFrom('reset', 'silent', 'garbage').map(type => ({ type }) as const),
  fc.integer({ min: 1, max: 900 }).map(bytes => ({ type: 'truncate', bytes }) as const),
  fc.integer({ min: 5, max: 60 }).map(bytes => ({ type: 'slow', bytes }) as const),
);
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: objects.map(object => ({ do: 'put', object }) as const) },
  {
    weight: 5,
    arbitrary: objects.map(({ kind, metadata: { namespace, name } }) => {
      return { do: 'delete', kind, name: namespace === undefined ? name : `${namespace}/${name}` } as const;
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('fault'),
      fault: faults,
      requests: fc.integer({ min: 1, max: 12 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait'), ms: fc.integer({ min: 0, max: 15 }) }) },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom('cut', 'end watches', 'compact', 'bookmark', 'restart', 'stream', 'pages', 'token')
      .map(verb => ({ do: verb }) as const),
  },
);

test('watchCluster() ends up with what the server holds, and never deletes what was not deleted there', async () => {
  const histories = fc.array(steps, { minLength: 10, maxLength: 60 });
  await fc.assert(fc.asyncProperty(histories, holds), { numRuns: RUNS, endOnFailure: true });
});

async function holds(history: readonly Step[]): Promise<void> {
  const world = new World();
  await world.server.start();
  const cluster = new FollowedCluster(world.server, 40);
  try {
    for (const step of history) await world.take(step);
    world.calm();
    await until('ready', () => cluster.isReady);
    await until('the same state', () => isSameState(cluster.state, stateOf(world.server)));
    for (const key of new Set(cluster.gone))
      expect(count(cluster.gone, key), `${key} was deleted so often`).toBeLessThanOrEqual(
        count(world.deleted, key),
      );
  } finally {
    await cluster.close();
    await world.server.stop();
  }
}

function count(list: readonly string[], item: string): number {
  return list.filter(other => other === item).length;
}

class World {
  readonly server = new FakeApiServer();
  /** Keys of events for everything that was deleted at the server. */
  readonly deleted: string[] = [];
  #faults: Fault[] = [];

  constructor() {
    this.server.fault = () => this.#faults.pop();
    for (const name of ['a', 'b']) this.server.put(apiNamespace(name));
  }

  calm(): void {
    this.#faults = [];
  }

  async take(step: Step): Promise<void> {
    const { server } = this;
    switch (step.do) {
      case 'put':
        if (step.object.kind !== 'ClusterNetworkPolicy' || server.has('CustomResourceDefinition', CRD))
          server.put(step.object);
        break;
      case 'delete':
        // Namespaces stay: without them, policies of pods that are left wait for those.
        if (step.kind !== 'Namespace' && server.has(step.kind, step.name)) this.#delete(step.kind, step.name);
        break;
      case 'fault':
        this.#faults = Array.from({ length: step.requests }, () => step.fault);
        break;
      case 'wait':
        await sleep(step.ms);
        break;
      case 'restart':
        await server.stop();
        await server.start();
        break;
      case 'token':
        server.token += '+';
        break;
      default:
        disturb(server, step.do);
    }
  }

  #delete(kind: string, name: string): void {
    const before = [...stateOf(this.server).policies.keys()];
    this.deleted.push(kind.endsWith('Policy') ? `${kind} ${name}` : name);
    this.server.delete(kind, name);
    if (kind !== 'CustomResourceDefinition') return;
    const after = stateOf(this.server).policies;
    this.deleted.push(...before.filter(id => !after.has(id)));
  }
}
