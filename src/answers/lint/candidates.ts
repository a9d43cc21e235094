/**
 * The pods and workloads that the subjects and peers of policies may select. They are looked up by the selector's
 * requirements, because there may be thousands of pods and policies.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { MultiMap } from '../../lib/collections/multimap.ts';
import { didYouMean } from '../../lib/text/didyoumean.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { type Cluster, type ContainerPort, NAMESPACE_NAME_LABEL, namespaceOf } from '../../model/cluster.ts';
import type { DeclaredPort, Inventory } from '../../model/inventory.ts';
import { type NamedPort, namedPortMatches } from '../../model/ports.ts';
import {
  type LabelSelector,
  type Labels,
  matchesLabels,
  matchNamespace,
  matchPod,
  type PodSelector,
  type Requirement,
} from '../../model/selector.ts';
import { makerText, type PodMaker } from '../../model/workload.ts';
import { topWorkloads } from '../../model/workloadof.ts';

/** A pod, or a workload that would make some. */
export interface Candidate {
  /** `Pod shop/web`, `Deployment shop/web`. */
  readonly id: string;
  readonly namespace: string;
  readonly labels: Labels;
  /** Its ports that have a name. */
  readonly ports: readonly ContainerPort[];
  readonly unnamedPorts?: readonly DeclaredPort[];
  /** On the network of its node: policy does not select it (N45, N46). */
  readonly hostNetwork: boolean;
}

interface OfNamespace {
  readonly all: Candidate[];
  /** Keys are those of their labels, alone and with the values. */
  readonly byLabel: MultiMap<string, Candidate>;
  /** The values of each label, by its key. */
  readonly values: Map<string, Set<string>>;
  /** Keys are the names of their ports. */
  readonly byPort: MultiMap<string, Candidate>;
}

export class Candidates {
  readonly #cluster: Cluster;
  readonly #namespaces = new Map<string, OfNamespace>();
  readonly #makers: readonly PodMaker[];
  #hasHostNetwork = false;

  constructor(cluster: Cluster, inventory: Inventory) {
    this.#cluster = cluster;
    this.#makers = inventory.podMakers;
    for (const pod of cluster.pods.values())
      if (!pod.finished) {
        const unnamedPorts = inventory.unnamedPorts.get(pod.key);
        this.#add({ ...pod, id: `Pod ${pod.key}`, ...(unnamedPorts && { unnamedPorts }) });
      }
    for (const workload of topWorkloads(inventory)) this.#add(workload);
  }

  /** Those that have pods or workloads. */
  get namespaces(): Iterable<string> {
    return this.#namespaces.keys();
  }

  /** Whether its namespaces have pods or workloads, and it selects none of them. */
  selectsNone(selector: PodSelector): boolean {
    return this.#in(selector.namespaces).length > 0 && !this.hasSome(selector);
  }

  /** Whether somebody has its labels, on the network of a node or not. */
  hasSome(selector: PodSelector): boolean {
    return this.#matching(selector).next().done === false;
  }

  selectsAny(selector: PodSelector): boolean {
    return this.#selectable(selector).next().done === false;
  }

  /** Those that it selects, without those on the network of their node. */
  selected(selector: PodSelector): Candidate[] {
    return [...this.#selectable(selector)];
  }

  /** Whether it may select this one. */
  selects(selector: PodSelector, pod: Pick<Candidate, 'namespace' | 'labels'>): boolean {
    return matchPod(selector, pod, namespaceOf(this.#cluster, pod.namespace)) !== 'no';
  }

  /** Whether its labels are only those of pods on the network of their node, which policy does not select. */
  meansOnlyNodes(selector: PodSelector): boolean {
    let isFound = false;
    if (!this.#hasHostNetwork) return isFound;
    for (const { hostNetwork } of this.#matching(selector)) {
      if (!hostNetwork) return false;
      isFound = true;
    }
    return isFound;
  }

  /** Those of other namespaces that have the labels. */
  elsewhere(namespace: string, pods: LabelSelector): Candidate[] {
    return [...this.#namespaces].flatMap(([name, of]) =>
      name === namespace ? [] : asked(of, pods).filter(({ labels }) => matchesLabels(pods, labels)),
    );
  }

  /**
   * Whether the pods of all namespaces that are meant are there; those of a part of a cluster may not be.
   */
  areKnown(namespaces: PodSelector['namespaces']): boolean {
    if (namespaces.kind === 'name') return true;
    const named = namespaces.selector.requirements.find(
      ({ key, operator }) => key === NAMESPACE_NAME_LABEL && operator === 'In',
    );
    if (named !== undefined) return named.values.every(name => this.#namespaces.has(name));
    const isJudged = (name: string) =>
      matchNamespace(namespaces, name, namespaceOf(this.#cluster, name)) !== 'unknown';
    return isWhole(this.#cluster) && [...this.#namespaces.keys()].every(isJudged);
  }

  *#selectable(selector: PodSelector): Generator<Candidate> {
    for (const candidate of this.#matching(selector)) if (!candidate.hostNetwork) yield candidate;
  }

  /** Pods and workloads that have its labels. */
  *#matching({ namespaces, pods }: PodSelector): Generator<Candidate> {
    for (const of of this.#in(namespaces))
      for (const candidate of asked(of, pods)) if (matchesLabels(pods, candidate.labels)) yield candidate;
  }

  /** Whether one of them calls a port so. */
  selectsPort({ namespaces, pods }: PodSelector, port: NamedPort): boolean {
    const isMeant = (declared: ContainerPort) => namedPortMatches(port, declared);
    return this.#in(namespaces).some(({ byPort }) =>
      [...byPort.get(port.name)].some(
        ({ labels, ports, hostNetwork }) =>
          !hostNetwork && ports.some(isMeant) && matchesLabels(pods, labels),
      ),
    );
  }

  /** What makes pods in its namespaces that are not read, and so may be selected. */
  makersFor({ namespaces }: PodSelector): readonly PodMaker[] {
    return this.#makers.filter(
      ({ namespace }) =>
        matchNamespace(namespaces, namespace, namespaceOf(this.#cluster, namespace)) !== 'no',
    );
  }

  /**
   * Whether its labels seem to be those of pods that one of these makes: they often have its kind or its name; of pods that
   * a controller makes when something is asked of it; or of whoever wants to be let in.
   */
  maySelectMade(selector: PodSelector): boolean {
    if (selector.pods.requirements.some(isOnDemand)) return true;
    const values = selector.pods.requirements.flatMap(({ operator, values }) =>
      operator === 'In' ? values : [],
    );
    return this.makersFor(selector).some(({ kind, name }) =>
      values.some(value => isAlike(value, kind) || isAlike(value, name)),
    );
  }

  /** A label of somebody in these namespaces that is nearly the one that nobody has: `app=frontend`. */
  nearLabel({ namespaces, pods }: PodSelector): string | undefined {
    const places = this.#in(namespaces);
    for (const { key, operator, values } of pods.requirements) {
      const [value] = values;
      if (operator !== 'In' || values.length > 1 || value === undefined) continue;
      const near = nearValue(places, key, value) ?? nearKey(places, key, value);
      const isFound = (fixed: LabelSelector) =>
        places.some(of => asked(of, fixed).some(({ labels }) => matchesLabels(fixed, labels)));
      if (near !== undefined && isFound({ requirements: pods.requirements.map(withLabel(key, near)) }))
        return near.join('=');
    }
    return undefined;
  }

  #in(namespaces: PodSelector['namespaces']): OfNamespace[] {
    if (namespaces.kind === 'name')
      return [this.#namespaces.get(namespaces.name)].filter(of => of !== undefined);
    const isMeant = (name: string) =>
      matchNamespace(namespaces, name, namespaceOf(this.#cluster, name)) !== 'no';
    return [...this.#namespaces].filter(([name]) => isMeant(name)).map(([, of]) => of);
  }

  #add(candidate: Candidate): void {
    const { namespace, labels } = candidate;
    const of = getOrMake(
      this.#namespaces,
      namespace,
      (): OfNamespace => ({
        all: [],
        byLabel: new MultiMap(),
        values: new Map(),
        byPort: new MultiMap(),
      }),
    );
    of.all.push(candidate);
    this.#hasHostNetwork ||= candidate.hostNetwork;
    for (const [key, value] of Object.entries(labels)) {
      of.byLabel.add(key, candidate);
      of.byLabel.add(labelText(key, value), candidate);
      getOrMake(of.values, key, () => new Set()).add(value);
    }
    for (const { name } of candidate.ports) of.byPort.add(name, candidate);
  }
}

/** Whether nothing of a cluster seems to be left out: a repository has no nodes, or not what every cluster has. */
export function isWhole({ nodes, namespaces }: Cluster): boolean {
  return nodes.size > 0 && namespaces.has('kube-system');
}

/** No object of a repository makes these pods, and none of them may be there: solvers of ACME, steps of pipelines, runners. */
const ON_DEMAND =
  /^(?:acme\.cert-manager\.io|tekton\.dev|workflows\.argoproj\.io|actions\.github\.com|batch\.kubernetes\.io)\/|^job-name$/;

/** Charts let in who has `shop-db-client: "true"`, and leave it to the clients to have it. */
const OFFERED = /-client$/;

function isOnDemand({ key, operator, values }: Requirement): boolean {
  if (operator === 'In' && OFFERED.test(key) && values.every(value => value === 'true')) return true;
  return (operator === 'In' || operator === 'Exists') && ON_DEMAND.test(key);
}

function isAlike(value: string, name: string): boolean {
  const [a, b] = [value.toLowerCase(), name.toLowerCase()];
  return a === b || (a.length > 3 && b.includes(a)) || (b.length > 3 && a.includes(b));
}

/** What a policy selects cannot be said where pods are not read. */
export function unlessUnread(makers: readonly PodMaker[]): string {
  if (makers.length === 0) return '';
  const names = firstOf(makers.map(makerText), MOST_NAMED);
  return `, unless it means pods of ${names}: how these are made is not read`;
}

const MOST_NAMED = 5;

/** All candidates for a selector: those that meet its first requirement of this kind. */
function asked({ all, byLabel }: OfNamespace, { requirements }: LabelSelector): readonly Candidate[] {
  for (const { key, operator, values } of requirements) {
    if (operator === 'Exists') return [...byLabel.get(key)];
    if (operator === 'In') return values.flatMap(value => [...byLabel.get(labelText(key, value))]);
  }
  return all;
}

/** No key has a NUL. */
function labelText(key: string, value: string): string {
  return `${key}\0${value}`;
}

type Label = readonly [key: string, value: string];

/** A limit, because each value is compared letter by letter. */
const MOST_COMPARED = 200;

function nearValue(places: readonly OfNamespace[], key: string, value: string): Label | undefined {
  const values = places.flatMap(of => [...(of.values.get(key) ?? [])]);
  const near = values.length > MOST_COMPARED ? undefined : didYouMean(value, values);
  return near === undefined ? undefined : [key, near];
}

/** The same value under another key: `app` where pods have `app.kubernetes.io/name`. */
function nearKey(places: readonly OfNamespace[], key: string, value: string): Label | undefined {
  const keys = places.flatMap(of => [...of.values]).filter(([, values]) => values.has(value));
  const [other] = keys.find(([each]) => each !== key) ?? [];
  return other === undefined ? undefined : [other, value];
}

function withLabel(key: string, [nearKey, nearValue]: Label) {
  return (requirement: Requirement): Requirement =>
    requirement.key === key ? { key: nearKey, operator: 'In', values: [nearValue] } : requirement;
}
