/**
 * Counts connections as they come, within limits that one pod cannot use up for others. Each flow is charged to the pod that
 * opens it, or to the one that answers where who opens it is none.
 *
 *     a pod has its share as who opens, and another as who answers
 *     a namespace has its share, however many pods it has
 *     where all is full, a namespace with less than an equal share takes the place of the oldest flow of the one with most
 *
 * What has no place is counted.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { largest } from '../../lib/fairness/quota.ts';
import { namespaceOfPod } from '../../model/cluster.ts';
import { countOf, countsOf, type RecordedFlow, recordedFlowKey, sum } from './recording.ts';

export interface RecorderLimits {
  readonly flows: number;
  readonly perNamespace: number;
  readonly perPod: number;
}

const LIMITS: RecorderLimits = { flows: 100_000, perNamespace: 20_000, perPod: 2_000 };

interface Counted {
  readonly flow: RecordedFlow;
  readonly charged: Charged;
  egress: number;
  ingress: number;
  openEgress: number;
  openIngress: number;
  firstMs: number;
  lastMs: number;
}

interface Charged {
  readonly namespace: string;
  /** The pod and the direction. */
  readonly pod: string;
}

interface NamespaceFlows {
  readonly flows: Map<string, Counted>;
  /** How many of them are charged to each pod. */
  readonly pods: Map<string, number>;
}

export class Recorder {
  readonly #limits: RecorderLimits;
  readonly #namespaces = new Map<string, NamespaceFlows>();
  readonly #leftOut = new Map<string, number>();
  #size = 0;

  constructor(limits: RecorderLimits = LIMITS) {
    this.#limits = limits;
  }

  get leftOut(): ReadonlyMap<string, number> {
    return this.#leftOut;
  }

  /** Counts of `flow` are added to those that are known of it. */
  record(flow: RecordedFlow): void {
    const charged = chargedTo(flow);
    const key = recordedFlowKey(flow);
    const known = this.#namespaces.get(charged.namespace)?.flows.get(key);
    if (known !== undefined) add(known, flow);
    else if (this.#makeRoom(charged)) this.#put(key, flow, charged);
    else this.leaveOut(charged.namespace, countOf(flow));
  }

  flows(): RecordedFlow[] {
    const all = [...this.#namespaces.values()].flatMap(({ flows }) => [...flows.values()]);
    return all.map(({ flow, firstMs, lastMs, ...counted }) => ({
      ...flow,
      ...countsOf(counted),
      firstMs,
      lastMs,
    }));
  }

  /**
   * Counts connections for which the recording has no room, by namespace; beyond a number of namespaces, further ones
   * are counted together.
   */
  leaveOut(namespace: string, count: number): void {
    const key = this.#leftOut.has(namespace) || this.#leftOut.size < MOST_NAMED ? namespace : '';
    this.#leftOut.set(key, sum(this.#leftOut.get(key) ?? 0, count));
  }

  #makeRoom({ namespace, pod }: Charged): boolean {
    const { flows, pods } = this.#namespaces.get(namespace) ?? NOTHING;
    if ((pods.get(pod) ?? 0) >= this.#limits.perPod || flows.size >= this.#limits.perNamespace) return false;
    if (this.#size < this.#limits.flows) return true;
    const namespaces = this.#namespaces.size + (this.#namespaces.has(namespace) ? 0 : 1);
    if (flows.size + 1 > this.#limits.flows / namespaces) return false;
    this.#giveUpOne();
    return true;
  }

  #giveUpOne(): void {
    const [namespace, { flows }] = largest(this.#namespaces, ([, { flows }]) => flows.size)!;
    const [key, counted] = flows.entries().next().value!;
    this.#drop(namespace, key, counted);
    this.leaveOut(namespace, countOf(counted));
  }

  #put(key: string, flow: RecordedFlow, charged: Charged): void {
    const { namespace, pod } = charged;
    const of = getOrMake(this.#namespaces, namespace, () => ({ flows: new Map(), pods: new Map() }));
    const { egress, ingress, openEgress = 0, openIngress = 0, firstMs, lastMs } = flow;
    of.flows.set(key, { flow, charged, egress, ingress, openEgress, openIngress, firstMs, lastMs });
    of.pods.set(pod, (of.pods.get(pod) ?? 0) + 1);
    this.#size++;
  }

  #drop(namespace: string, key: string, { charged: { pod } }: Counted): void {
    const { flows, pods } = this.#namespaces.get(namespace)!;
    flows.delete(key);
    const left = pods.get(pod)! - 1;
    if (left === 0) pods.delete(pod);
    else pods.set(pod, left);
    if (flows.size === 0) this.#namespaces.delete(namespace);
    this.#size--;
  }
}

const MOST_NAMED = 1_000;
const NOTHING: NamespaceFlows = { flows: new Map(), pods: new Map() };

function chargedTo({ from, to }: RecordedFlow): Charged {
  const pod = from.pod ?? to.pod;
  if (pod === undefined) return { namespace: '', pod: '' };
  return { namespace: namespaceOfPod(pod.key), pod: `${from.pod === undefined ? 'in' : 'out'} ${pod.key}` };
}

function add(known: Counted, flow: RecordedFlow): void {
  const { egress, ingress, openEgress = 0, openIngress = 0, firstMs, lastMs } = flow;
  known.egress = sum(known.egress, egress);
  known.ingress = sum(known.ingress, ingress);
  known.openEgress = sum(known.openEgress, openEgress);
  known.openIngress = sum(known.openIngress, openIngress);
  known.firstMs = Math.min(known.firstMs, firstMs);
  known.lastMs = Math.max(known.lastMs, lastMs);
}
