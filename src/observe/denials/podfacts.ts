/** A pod as policy saw it when somebody told of it: told with the connection, since the pod may have changed a second later. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { ContainerPort, Pod } from '../../model/cluster.ts';
import type { Labels } from '../../model/labels.ts';

export interface PodFacts {
  /** Where the pod runs. */
  readonly nodeName?: string;
  /** Of the pod; absent where they and its ports are longer than 4 KB of text. */
  readonly labels?: Labels;
  /** Its named ports; absent where it has none, and where `labels` are. */
  readonly ports?: readonly ContainerPort[];
}

/** Each connection has the labels of both its ends: those of a pod with hundreds would be more than all else that is told. */
const LONGEST_TEXT = 4_096;
const known = new WeakMap<Pod, PodFacts>();

export function podFacts(pod: Pod): PodFacts {
  return getOrMake(known, pod, () => factsOf(pod));
}

function factsOf({ node, labels, partial, ports }: Pod): PodFacts {
  const nodeName = node === '' ? {} : { nodeName: node };
  if (partial || JSON.stringify([labels, ports]).length > LONGEST_TEXT) return nodeName;
  return { ...nodeName, labels, ...(ports.length > 0 && { ports }) };
}
