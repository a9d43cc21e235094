/** The pods of the node with rules by name, for which DNS answers are read, and the sets that these rules look up. */
import type { Address } from '../model/address.ts';
import type { PodKey } from '../model/cluster.ts';
import type { Command } from './control.ts';

/** A set in the kernel, of pairs `pod . address`. */
export interface NamesSet {
  readonly name: string;
  readonly patterns: readonly string[];
  /** The command of control packets that adds an element to it. */
  readonly command: Command;
}

export interface NamesPod {
  readonly key: PodKey;
  readonly uid?: string | undefined;
  /** RFC 3339, or empty if it is not known. */
  readonly createdAt?: string;
  readonly addresses: readonly Address[];
  /** Names of the sets that its rules look up. */
  readonly sets: readonly string[];
}

export interface Subjects {
  readonly pods: readonly NamesPod[];
  readonly sets: readonly NamesSet[];
}

/** Whether another pod has the name now, which must not get the leases of the first one. */
export function isSuccessor(pod: NamesPod, of: NamesPod): boolean {
  return pod.uid !== undefined && of.uid !== undefined && pod.uid !== of.uid;
}

/** The pods of `now` that are not another pod of the same name than `before`. */
export function lastingPods(before: Subjects, now: Subjects): Set<PodKey> {
  const former = new Map(before.pods.map(pod => [pod.key, pod]));
  const lasting = now.pods.filter(pod => !isSuccessor(pod, former.get(pod.key) ?? pod));
  return new Set(lasting.map(({ key }) => key));
}

export const NO_SUBJECTS: Subjects = { pods: [], sets: [] };

/** A change of one set element for a lease: it is added, renewed or deleted. */
export interface LeaseChange {
  readonly kind: 'learn' | 'forget';
  readonly set: string;
  readonly pod: Address;
  readonly peer: Address;
}

export function elementOf({ set, pod, peer }: LeaseChange): string {
  return `${set} ${pod} ${peer}`;
}

/** Leaves out changes that a later change of the same element replaces. */
export function lastOfEach(changes: readonly LeaseChange[]): LeaseChange[] {
  const last = new Map<string, LeaseChange>();
  for (const change of changes) {
    const element = elementOf(change);
    last.delete(element);
    last.set(element, change);
  }
  return [...last.values()];
}
