/** What policies can tell of a pod. Pods of which they can tell the same have one template. */
import type { ContainerPort, Namespace } from '../../model/cluster.ts';
import type { Labelled } from '../../model/labels.ts';
import type { Vocabulary } from './vocabulary.ts';

export interface Template extends Labelled {
  readonly namespace: Namespace;
  /** Of the names that policies say, each once. */
  readonly ports: readonly ContainerPort[];
  /** The same for templates of the same ports. */
  readonly portsText: string;
}

/** A pod as its owner describes it, whether there is one or not. */
export interface PodLike extends Labelled {
  readonly ports: readonly ContainerPort[];
}

export class Templates {
  readonly all: Template[] = [];
  readonly #byText = new Map<string, number>();
  readonly #vocabulary: Vocabulary;

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /** The index of the template of a pod. */
  indexOf(pod: PodLike, namespace: Namespace): number {
    const { labelKeys, portNames } = this.#vocabulary;
    const labels = Object.entries(pod.labels).filter(([key]) => labelKeys.has(key));
    const portsText = portsTextOf(pod.ports.filter(({ name }) => portNames.has(name)));
    const text = JSON.stringify([textOfNamespace(namespace), labels.sort(), pod.partial, portsText]);
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const partial = pod.partial && { partial: pod.partial };
    const ports = JSON.parse(portsText) as ContainerPort[];
    this.#byText.set(text, this.all.length);
    return this.all.push({ namespace, labels: Object.fromEntries(labels), ...partial, ports, portsText }) - 1;
  }
}

function portsTextOf(ports: readonly ContainerPort[]): string {
  const texts = ports.map(({ name, protocol, port }) => JSON.stringify({ name, protocol, port }));
  return `[${[...new Set(texts)].sort()}]`;
}

/** Two namespaces of one name are one; one that is imagined has labels of its own. */
function textOfNamespace({ name, labels }: Namespace): unknown {
  return name === '' ? labels : name;
}
