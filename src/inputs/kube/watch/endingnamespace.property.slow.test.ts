/**
 * Whatever the API server, the network and a restart of the agent do while namespaces are deleted: pods that were
 * isolated when their namespace began to terminate stay isolated until they are gone, and in the end the state is the
 * server's.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FollowedCluster, isSameState, stateOf } from '../../../../test/support/api/clusterwatch.ts';
import { type Disturbance, disturb } from '../../../../test/support/api/disturb.ts';
import { apiNamespace, apiNetworkPolicy, apiNode, apiPod } from '../../../../test/support/api/objects.ts';
import { FakeApiServer, type FakeRequest, type Fault } from '../../../../test/support/api/server.ts';
import { runs } from '../../../../test/support/seed.ts';
import { until } from '../../../../test/support/until.ts';
import { compile } from '../../../compiler/compile.ts';
import { isolatedPodsIn } from '../../../compiler/isolatedpods.ts';
import { type Cluster, namespaceOfPod, type PodKey } from '../../../model/cluster.ts';
import type { PolicyId } from '../../../model/policy.ts';
import { matchLabels } from '../../../model/selector.ts';

const RUNS = runs(25, 25);
const NODE = 'node-1';
const APPS = ['web', 'db'];
const NAMESPACES = ['a', 'b'];
const PODS: readonly PodKey[] = ['a/x', 'a/y', 'b/x'];

type Step =
  | { readonly do: 'begin pod'; readonly pod: PodKey; readonly app: string }
  | { readonly do: 'begin policy'; readonly namespace: string; readonly app: string }
  | { readonly do: 'end pod' | 'end policy'; readonly which: number }
  | { readonly do: 'end namespace' | 'renew namespace'; readonly namespace: string }
  | { readonly do: 'fault'; readonly where: string; readonly fault: Fault; readonly requests: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'kill' | Disturbance };

const namespace = fc.constantFrom(...NAMESPACES);
const app = fc.constantFrom(...APPS);
const faults: fc.Arbitrary<Fault> = fc.oneof(
  fc.constantFrom(401, 403, 410, 429, 500).map(code => ({ type: 'status', code }) as const),
  fc.constantFrom('reset', 'silent', 'garbage').map(type => ({ type }) as const),
  fc.integer({ min: 1, max: 400 }).map(bytes => ({ type: 'truncate', bytes }) as const),
);
const which = fc.nat(20);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('begin pod'),
      pod: fc.constantFrom(...PODS),
      app,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('begin policy'), namespace, app }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('end pod'), which }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('end policy'), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('end namespace', 'renew namespace'), namespace }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('fault'),
      where: fc.constantFrom('/namespaces', '/namespaces', '/networkpolicies', '/pods', ''),
      fault: faults,
      requests: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('wait'), ms: fc.integer({ min: 0, max: 15 }) }) },
  { weight: 2, arbitrary: fc.constant({ do: 'kill' } as const) },
  {
    weight: 5,
    arbitrary: fc
      .constantFrom('cut', 'end watches', 'end watches', 'compact', 'bookmark', 'stream', 'pages')
      .map(verb => ({ do: verb }) as const),
  },
) as fc.Arbitrary<Step>;

const tally = { ended: 0, isolated: 0, kills: 0, looks: 0 };

test('a pod that was isolated when its namespace began to end stays so until it is gone', async () => {
  const histories = fc.array(step, { minLength: 15, maxLength: 40, size: 'max' });
  await fc.assert(fc.asyncProperty(histories, holds), { numRuns: RUNS, endOnFailure: true });
  expect(Math.min(...Object.values(tally)), JSON.stringify(tally)).toBeGreaterThan(RUNS / 4);
}, 300_000);

async function holds(history: readonly Step[]): Promise<void> {
  const world = new World();
  await world.begin();
  try {
    for (const each of history) await world.take(each);
    await world.calm();
  } finally {
    await world.end();
  }
}

class World {
  readonly #server = new FakeApiServer();
  readonly #ending = new Set<string>();
  /** Pods that must be isolated. */
  readonly #guarded = new Set<PodKey>();
  #agent!: FollowedCluster;
  #isKilled = false;
  /** The cluster from which the rules in force were made, for an agent that has not started yet. */
  #before: Cluster | undefined;
  #fault: { where: string; fault: Fault; requests: number } | undefined;
  #policies = 0;
  #wrong: string | undefined;

  async begin(): Promise<void> {
    await this.#server.start();
    this.#server.fault = request => this.#faultOf(request);
    for (const name of NAMESPACES) this.#beginNamespace(name);
    this.#server.put(apiNode(NODE, '192.168.0.1'));
    this.#start();
    await until('ready', () => this.#agent.isReady);
  }

  async end(): Promise<void> {
    await this.#agent.close();
    await this.#server.stop();
  }

  /** Stops all disturbances, and completes all deletions that have begun. */
  async calm(): Promise<void> {
    this.#fault = undefined;
    await until('ready', () => this.#agent.isReady);
    this.#look();
    for (const kind of ['NetworkPolicy', 'Pod'])
      for (const name of this.#named(kind))
        if (this.#ending.has(namespaceOfPod(name as PodKey))) this.#delete(kind, name);
    await until('as the server has it', () => isSameState(this.#agent.state, stateOf(this.#server)));
    if (this.#wrong !== undefined) throw new Error(this.#wrong);
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'begin pod':
        this.#beginPod(step.pod, step.app);
        break;
      case 'begin policy':
        this.#beginPolicy(step.namespace, step.app);
        break;
      case 'end pod':
        this.#deleteOne('Pod', step.which);
        break;
      case 'end policy':
        this.#deleteOne('NetworkPolicy', step.which);
        break;
      case 'end namespace':
        this.#endNamespace(step.namespace);
        break;
      case 'renew namespace':
        this.#renew(step.namespace);
        break;
      case 'fault':
        this.#fault = { ...step };
        break;
      case 'wait':
        await sleep(step.ms);
        break;
      case 'kill':
        await this.#kill();
        break;
      default:
        disturb(this.#server, step.do);
    }
  }

  #faultOf({ path }: FakeRequest): Fault | undefined {
    const fault = this.#fault;
    if (fault === undefined || !path.endsWith(fault.where) || fault.requests-- <= 0) return undefined;
    return fault.fault;
  }

  #named(kind: string): readonly string[] {
    const objects = this.#server.objects.filter(object => object.kind === kind);
    return objects.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
  }

  #deleteOne(kind: string, which: number): void {
    const names = this.#named(kind);
    if (names.length > 0) this.#delete(kind, names[which % names.length]!);
  }

  #delete(kind: string, name: string): void {
    if (kind === 'Pod') this.#guarded.delete(name as PodKey);
    this.#server.delete(kind, name);
  }

  /** Makes a namespace with its pods, and a policy for each. */
  #beginNamespace(name: string): void {
    this.#server.put(apiNamespace(name));
    for (const [at, pod] of PODS.filter(pod => namespaceOfPod(pod) === name).entries()) {
      this.#beginPod(pod, APPS[at]!);
      this.#beginPolicy(name, APPS[at]!);
    }
  }

  #beginPod(pod: PodKey, app: string): void {
    if (!this.#ending.has(namespaceOfPod(pod)) && !this.#server.has('Pod', pod))
      this.#server.put(apiPod(pod, `10.0.0.${1 + PODS.indexOf(pod)}`, { app }));
  }

  #beginPolicy(namespace: string, app: string): void {
    if (!this.#ending.has(namespace))
      this.#server.put(apiNetworkPolicy(`${namespace}/p${this.#policies++}`, app));
  }

  #endNamespace(name: string): void {
    if (this.#ending.has(name)) return;
    const inForce = this.#agent.isReady ? this.#agent.state : this.#before;
    const now = stateOf(this.#server);
    for (const key of now.pods.keys()) {
      if (namespaceOfPod(key) !== name || !inForce?.pods.has(key)) continue;
      const isInForce = (id: PolicyId) => isolating(inForce, key).includes(id);
      if (!isolating(now, key).some(isInForce)) continue;
      this.#guarded.add(key);
      tally.isolated++;
    }
    this.#ending.add(name);
    tally.ended++;
    this.#server.put(apiNamespace(name, {}, true));
  }

  /** The objects of the namespace are gone, so it is gone, too; a new one of the same name is made. */
  #renew(name: string): void {
    const left = [...this.#named('Pod'), ...this.#named('NetworkPolicy')];
    if (!this.#ending.has(name) || left.some(key => namespaceOfPod(key as PodKey) === name)) return;
    this.#server.delete('Namespace', name);
    this.#ending.delete(name);
    this.#beginNamespace(name);
  }

  #start(isolated = new Map()): void {
    this.#agent = new FollowedCluster(this.#server, 40, NODE, isolated);
    this.#isKilled = false;
    this.#agent.onChange = () => this.#look();
    void this.#agent.ready.then(() => this.#look());
  }

  async #kill(): Promise<void> {
    if (this.#agent.isReady) this.#before = this.#agent.state;
    this.#isKilled = true;
    await this.#agent.close();
    tally.kills++;
    this.#start(
      this.#before === undefined ? undefined : new Map(isolatedPodsIn(compile(this.#before, NODE))),
    );
  }

  #look(): void {
    if (this.#isKilled || !this.#agent.isReady) return;
    const { state } = this.#agent;
    for (const pod of this.#guarded) {
      tally.looks++;
      if (state.pods.has(pod) && isolating(state, pod).length === 0)
        this.#wrong ??= `${pod} is open while its namespace ends`;
    }
  }
}

/** Policies that isolate the pod for ingress. */
function isolating({ pods, policies }: Cluster, key: PodKey): readonly PolicyId[] {
  const pod = pods.get(key)!;
  return [...policies.values()]
    .filter(
      ({ subject: { namespaces }, ingress }) =>
        ingress && (namespaces as { name?: string }).name === pod.namespace,
    )
    .filter(({ subject }) => matchLabels(subject.pods, pod) === 'yes')
    .map(({ id }) => id);
}
