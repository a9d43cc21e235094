/** The pods of this node that have rules by name, and the sets that these rules look up. */

import { hash } from 'node:crypto';
import { getOrMake } from '../lib/collections/getormake.ts';
import { hasDomainPeers, patternsOfPolicy } from '../model/domainpeers.ts';
import type { Policy } from '../model/policy.ts';
import { learnCommandOf } from '../names/control.ts';
import { type NamesPod, type NamesSet, NO_SUBJECTS, type Subjects } from '../names/subjects.ts';
import { idOf, type PodClass } from './classes.ts';
import type { NamedGroup } from './group.ts';
import type { IndexedPod } from './live/pods/podindex.ts';

interface Placement {
  readonly indexedPod: IndexedPod;
  readonly podClass: PodClass;
}

/**
 * The pods with rules by name and their sets, sorted, so that the result does not depend on the order of pods and
 * groups.
 */
export function namesSubjects(placements: Iterable<Placement>, groups: Iterable<NamedGroup>): Subjects {
  const sets = namesSets(groups);
  if (sets.length === 0) return NO_SUBJECTS;
  const ownOf = ownSets(sets);
  const pods = [...placements].flatMap(placement => namesPod(placement, ownOf(placement.podClass)) ?? []);
  return { pods: pods.sort((a, b) => (a.key < b.key ? -1 : 1)), sets };
}

/** If two sets have the same command, which is most unlikely, the second one gets no elements. */
function namesSets(groups: Iterable<NamedGroup>): NamesSet[] {
  const byCommand = new Map<number, NamesSet>();
  for (const { name, group } of [...groups].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (group.kind !== 'names') continue;
    const command = learnCommandOf(hash('sha256', name, 'buffer').readUInt32BE());
    if (!byCommand.has(command)) byCommand.set(command, { name, patterns: group.patterns, command });
  }
  return [...byCommand.values()];
}

/**
 * A set belongs to a pod if the pod's rules have every name of the set, so that an address that is added for one of
 * them opens nothing else. Computed once for all classes with the same policies by name: there may be thousands of
 * names and hundreds of pods.
 */
function ownSets(sets: readonly NamesSet[]): (podClass: PodClass) => readonly string[] {
  const found = new Map<string, readonly string[]>();
  return ({ policies }) => {
    const naming = policies.filter(hasDomainPeers);
    const key = naming.map(idOf).join();
    return getOrMake(found, key, () => setsOf(naming, sets));
  };
}

function setsOf(naming: readonly Policy[], sets: readonly NamesSet[]): string[] {
  const patterns = new Set(naming.flatMap(patternsOfPolicy));
  return sets.filter(set => set.patterns.every(pattern => patterns.has(pattern))).map(({ name }) => name);
}

function namesPod({ indexedPod, podClass }: Placement, sets: readonly string[]): NamesPod | undefined {
  if (podClass.direction !== 'egress' || sets.length === 0) return undefined;
  const { pod, addresses } = indexedPod;
  const { key, uid, createdAt } = pod;
  return { key, uid, createdAt, addresses, sets };
}
