/** Pods of other nodes with addresses in this node's pod networks, where unknown pods are denied (N67). */
import type { Cidr } from '../../../model/address.ts';
import type { PodKey } from '../../../model/cluster.ts';
import { remotePodInNetworks } from '../../compile.ts';
import type { IndexedPod, PodIndex } from './podindex.ts';

export class LiveRemotePods {
  readonly #podIndex: PodIndex;
  readonly #node: string;
  readonly #remotePods = new Map<PodKey, IndexedPod>();

  constructor(podIndex: PodIndex, node: string) {
    this.#podIndex = podIndex;
    this.#node = node;
  }

  all(): Iterable<IndexedPod> {
    return this.#remotePods.values();
  }

  /**
   * Applies changes of these pods. Returns whether one of them has an address in the networks in which unknown pods are
   * denied, or had one.
   */
  refresh(keys: Iterable<PodKey>, denied: readonly Cidr[]): boolean {
    let changed = false;
    for (const key of keys) {
      const remotePod = remotePodInNetworks(this.#podIndex.indexedPod(key), this.#node, denied);
      changed ||= remotePod !== undefined || this.#remotePods.has(key);
      if (remotePod === undefined) this.#remotePods.delete(key);
      else this.#remotePods.set(key, remotePod);
    }
    return changed;
  }
}
