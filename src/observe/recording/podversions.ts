/** Versions of pods as they were when their connections were recorded: these count, and not later ones. */

import { namespaceOfPod, type Pod, type PodKey } from '../../model/cluster.ts';
import type { DenialEnd } from '../denials/denial.ts';
import { podText } from './recording.ts';

/** Known pods by their names. */
export type Pods = Pick<ReadonlyMap<PodKey, Pod>, 'get'>;

/** With more states than this, equal states are no longer shared, which costs only memory. */
const MOST_SHARED = 50_000;

export class PodVersions {
  readonly #shared = new Map<string, Pod>();

  /** How many states of pods are shared. */
  get size(): number {
    return this.#shared.size;
  }

  /** `latest`: used for pods whose labels were too long to be sent. Undefined if the end is no pod. */
  of(end: DenialEnd, latest: Pods): Pod | undefined {
    if (end.pod === undefined) return undefined;
    const known = end.labels === undefined ? latest.get(end.pod) : undefined;
    return known ?? this.#share(podOf(end.pod, end));
  }

  #share(pod: Pod): Pod {
    const text = podText(pod);
    const known = this.#shared.get(text) ?? pod;
    if (this.#shared.size >= MOST_SHARED) this.#shared.clear();
    this.#shared.set(text, known);
    return known;
  }
}

function podOf(key: PodKey, { nodeName = '', labels, ports = [] }: DenialEnd): Pod {
  return {
    key,
    namespace: namespaceOfPod(key),
    name: key.slice(key.indexOf('/') + 1),
    node: nodeName,
    labels: labels ?? {},
    ...(labels === undefined && { partial: true }),
    addresses: [],
    hostNetwork: false,
    finished: false,
    createdAt: '',
    ports,
  };
}
