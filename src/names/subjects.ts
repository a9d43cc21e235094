/** For whom DNS answers are read: the node's pods with rules by name, and the sets that these rules look up. */
import type { Address } from '../model/address.ts';
import type { PodKey } from '../model/cluster.ts';
import type { Command } from './control.ts';

/** A set in the kernel, of pairs `pod . address`. */
export interface NamesSet {
  readonly name: string;
  readonly patterns: readonly string[];
  /** What puts an element into it. */
  readonly command: Command;
}

export interface NamesPod {
  readonly key: PodKey;
  readonly uid?: string | undefined;
  /** RFC 3339, or empty where unknown. */
  readonly createdAt?: string;
  readonly addresses: readonly Address[];
  /** Names of the sets that its rules look up. */
  readonly sets: readonly string[];
}

export interface Subjects {
  readonly pods: readonly NamesPod[];
  readonly sets: readonly NamesSet[];
}

/** Whether another pod has the name now, which gets none of the first one's leases. */
export function isSuccessor(pod: NamesPod, of: NamesPod): boolean {
  return pod.uid !== undefined && of.uid !== undefined && pod.uid !== of.uid;
}

/** The pods of `now` that were not another one of the same name `before`. */
export function lastingPods(before: Subjects, now: Subjects): Set<PodKey> {
  const former = new Map(before.pods.map(pod => [pod.key, pod]));
  const lasting = now.pods.filter(pod => !isSuccessor(pod, former.get(pod.key) ?? pod));
  return new Set(lasting.map(({ key }) => key));
}

export const NO_SUBJECTS: Subjects = { pods: [], sets: [] };

/** One element of a set, to be put there or renewed for a lease, or to be taken away. */
export interface LeaseChange {
  readonly kind: 'learn' | 'forget';
  readonly set: string;
  readonly pod: Address;
  readonly peer: Address;
}

export function elementOf({ set, pod, peer }: LeaseChange): string {
  return `${set} ${pod} ${peer}`;
}

/** What is left to do where some of it is for the same elements: the last for each. */
export function lastOfEach(changes: readonly LeaseChange[]): LeaseChange[] {
  const last = new Map<string, LeaseChange>();
  for (const change of changes) {
    const element = elementOf(change);
    last.delete(element);
    last.set(element, change);
  }
  return [...last.values()];
}
