/**
 * The pods that the subjects and peers of policies may select. They are looked up by the selector's requirements,
 * because there may be thousands of pods and policies.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { MultiMap } from '../../lib/collections/multimap.ts';
import { type Cluster, type ContainerPort, namespaceOf } from '../../model/cluster.ts';
import { type NamedPort, namedPortMatches } from '../../model/ports.ts';
import {
  type LabelSelector,
  type Labels,
  matchesLabels,
  matchNamespace,
  type PodSelector,
} from '../../model/selector.ts';
import type { PodMaker } from '../../model/workload.ts';

/** A pod, or a workload that would make some. */
interface Candidate {
  readonly namespace: string;
  readonly labels: Labels;
  readonly ports: readonly ContainerPort[];
  /** On the network of its node: policy does not select it (N45, N46). */
  readonly hostNetwork: boolean;
}

interface OfNamespace {
  readonly all: Candidate[];
  /** Keys are those of their labels, alone and with the values. */
  readonly byLabel: MultiMap<string, Candidate>;
  /** Keys are the names of their ports. */
  readonly byPort: MultiMap<string, Candidate>;
}

export class SubjectIndex {
  readonly #cluster: Cluster;
  readonly #namespaces = new Map<string, OfNamespace>();
  readonly #makers: readonly PodMaker[];
  #hasHostNetwork = false;

  constructor(cluster: Cluster, workloads: readonly Candidate[], makers: readonly PodMaker[] = []) {
    this.#cluster = cluster;
    this.#makers = makers;
    for (const pod of cluster.pods.values()) if (!pod.finished) this.#add(pod);
    for (const workload of workloads) this.#add(workload);
  }

  /** Whether its namespaces have pods or workloads, and it selects none of them. */
  selectsNone(subject: PodSelector): boolean {
    return this.#in(subject.namespaces).length > 0 && this.#matching(subject).next().done === true;
  }

  selectsAny(selector: PodSelector): boolean {
    for (const { hostNetwork } of this.#matching(selector)) if (!hostNetwork) return true;
    return false;
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
      (): OfNamespace => ({ all: [], byLabel: new MultiMap(), byPort: new MultiMap() }),
    );
    of.all.push(candidate);
    this.#hasHostNetwork ||= candidate.hostNetwork;
    for (const [key, value] of Object.entries(labels)) {
      of.byLabel.add(key, candidate);
      of.byLabel.add(labelText(key, value), candidate);
    }
    for (const { name } of candidate.ports) of.byPort.add(name, candidate);
  }
}

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
