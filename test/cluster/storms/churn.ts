/** A storm of changes: pods, policies and namespaces come, change and go, by the dice of one seed. */
import type { Api, Manifest } from './api.ts';
import { FIRM_LABELS, NODE, OTHER_NODE } from './firm.ts';
import { adminPolicy, baselinePolicy, clusterPolicy, namespace, networkPolicy, pod } from './objects.ts';

const NAMESPACES = ['blue', 'green', 'red'];
const APPS = ['web', 'db', 'cache'];
const TEAMS = ['a', 'b'];
/** Few, so that addresses are used again by other pods, while their last pod has finished or still runs. */
const ADDRESSES = 24;
const NAMES = 30;
const POLICIES = 8;

/** Kinds of policies of the whole cluster that the storm may use: those whose definitions are there. */
export type ClusterKind = 'cluster v1alpha2' | 'cluster v1beta1' | 'admin' | 'baseline';

export class Churn {
  clusterKinds: readonly ClusterKind[] = [];
  /** So far. */
  changes = 0;
  readonly #api: Api;
  readonly #random: () => number;
  readonly #pods = new Map<string, Manifest>();
  readonly #policies = new Map<string, Manifest>();

  constructor(api: Api, seed: number) {
    this.#api = api;
    this.#random = dice(seed);
  }

  async begin(): Promise<void> {
    for (const name of NAMESPACES) await this.#api.apply(namespace(name, { team: this.#pick(TEAMS) }));
    for (let i = 0; i < NAMES; i++) await this.#putPod();
  }

  /** So many changes, one after the other. */
  async blow(changes: number): Promise<void> {
    for (let i = 0; i < changes; i++) await this.#change();
  }

  async blowUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await this.#change();
  }

  /** What the storm has made is no longer known to it: the server may have lost or regained any of it. */
  forget(): void {
    this.#pods.clear();
    this.#policies.clear();
  }

  #change(): Promise<void> {
    this.changes++;
    const dice = this.#random();
    if (dice < 0.3) return this.#putPod();
    if (dice < 0.4) return this.#removeOne(this.#pods);
    if (dice < 0.5) return this.#finishPod();
    if (dice < 0.55) return this.#relabelNamespace();
    if (dice < 0.8) return this.#putPolicy();
    if (dice < 0.9) return this.#removeOne(this.#policies);
    return this.#putClusterPolicy();
  }

  /** A new pod, or other labels or another address of one that is there. */
  async #putPod(): Promise<void> {
    const number = this.#below(NAMES);
    const name = `${this.#pick(NAMESPACES)}/pod-${number}`;
    // A pod never moves to another node.
    const node = number % 3 === 0 ? OTHER_NODE : NODE;
    const host = 10 + this.#below(ADDRESSES);
    const ips = [`10.0.2.${host}`, `fd00::2:${host}`];
    await this.#put(this.#pods, pod(name, { node, ips, labels: this.#labels() }));
  }

  async #finishPod(): Promise<void> {
    const found = this.#one(this.#pods);
    if (found === undefined) return;
    await this.#put(this.#pods, { ...found, status: { ...(found.status as object), phase: 'Succeeded' } });
  }

  async #relabelNamespace(): Promise<void> {
    await this.#api.apply(namespace(this.#pick(NAMESPACES), { team: this.#pick(TEAMS) }));
  }

  async #putPolicy(): Promise<void> {
    const name = `${this.#pick(NAMESPACES)}/policy-${this.#below(POLICIES)}`;
    const rule = (peers: string) => ({ [peers]: [this.#peer()], ports: [this.#port()] });
    const directions = this.#pick([['Ingress'], ['Egress'], ['Ingress', 'Egress']]);
    const spec = {
      podSelector: this.#selector(),
      policyTypes: directions,
      ...(directions.includes('Ingress') && { ingress: [rule('from'), rule('from')] }),
      ...(directions.includes('Egress') && { egress: [rule('to')] }),
    };
    await this.#put(this.#policies, networkPolicy(name, spec));
  }

  /** Never about pods of firm namespaces. */
  async #putClusterPolicy(): Promise<void> {
    const kind = this.#pick(this.clusterKinds);
    if (kind === undefined) return;
    const number = this.#below(4);
    const action = (tier: string) => (tier === 'Baseline' ? ['Deny', 'Allow'] : ['Deny', 'Allow', 'Pass']);
    const peers = [{ namespaces: NOT_FIRM }];
    const subject = { namespaces: NOT_FIRM };
    if (kind === 'admin')
      return this.#put(
        this.#policies,
        adminPolicy(`admin-${number}`, {
          subject,
          priority: number,
          ingress: [{ action: this.#pick(action('Admin')), from: peers }],
        }),
      );
    if (kind === 'baseline')
      return this.#put(
        this.#policies,
        baselinePolicy({ subject, ingress: [{ action: this.#pick(action('Baseline')), from: peers }] }),
      );
    const tier = this.#pick(['Admin', 'Baseline']);
    const word = this.#pick(action(tier)).replace('Allow', 'Accept');
    const spec = { tier, priority: number, subject, ingress: [{ action: word, from: peers }] };
    await this.#put(this.#policies, clusterPolicy(`cluster-${number}`, spec, kind.split(' ')[1]));
  }

  async #put(known: Map<string, Manifest>, object: Manifest): Promise<void> {
    await this.#api.apply(object);
    known.set(keyOf(object), object);
  }

  async #removeOne(known: Map<string, Manifest>): Promise<void> {
    const found = this.#one(known);
    if (found === undefined) return;
    known.delete(keyOf(found));
    if (await this.#api.exists(found)) await this.#api.remove(found);
  }

  #labels(): Record<string, string> {
    return { app: this.#pick(APPS), tier: this.#pick(TEAMS) };
  }

  #selector(): object {
    return this.#random() < 0.3 ? {} : { matchLabels: { app: this.#pick(APPS) } };
  }

  #peer(): object {
    const dice = this.#random();
    if (dice < 0.2) return { ipBlock: { cidr: '10.0.2.0/24', except: ['10.0.2.16/28'] } };
    if (dice < 0.6) return { podSelector: this.#selector() };
    const namespaceSelector = { matchLabels: { team: this.#pick(TEAMS) } };
    return { namespaceSelector, podSelector: this.#selector() };
  }

  #port(): object {
    const dice = this.#random();
    if (dice < 0.3) return { port: 'web' };
    if (dice < 0.5) return { port: 8000 + this.#below(10), endPort: 8100 };
    return { port: this.#pick([80, 443, 5432]), protocol: this.#pick(['TCP', 'UDP', 'SCTP']) };
  }

  #one(known: ReadonlyMap<string, Manifest>): Manifest | undefined {
    return known.size === 0 ? undefined : this.#pick([...known.values()]);
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#below(values.length)]!;
  }

  #below(end: number): number {
    return Math.floor(this.#random() * end);
  }
}

const NOT_FIRM = {
  matchExpressions: [{ key: Object.keys(FIRM_LABELS)[0], operator: 'DoesNotExist' }],
};

function keyOf({ kind, metadata: { namespace, name } }: Manifest): string {
  return `${kind} ${namespace}/${name}`;
}

/** Numbers from 0 to 1, the same for the same seed: mulberry32. */
export function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}
