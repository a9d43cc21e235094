/**
 * Peers that mean nearly everybody: selectors that only say who is not meant. A set of all but a few pods would hold
 * nearly all pods, once for each such selector; here those few are a set, and all pods one that everybody shares:
 *
 *     ip saddr @peers-… ip saddr != @others-… accept
 */
import type { PodSelector, Requirement } from '../model/selector.ts';
import { EVERY_NAMESPACE, EVERYTHING } from '../model/selector.ts';

export const EVERY_POD: PodSelector = { namespaces: EVERY_NAMESPACE, pods: EVERYTHING };

/**
 * Of whom a selector only says who is not meant: all pods, or all of one namespace. Undefined where it says who is:
 * then they are as few as it says.
 */
export function broadScope({ namespaces, pods, among }: PodSelector): PodSelector | undefined {
  if (among === 'unsure') return undefined; // of whom there are few, or none
  const ofNamespaces = namespaces.kind === 'name' ? [] : namespaces.selector.requirements;
  const requirements = [...ofNamespaces, ...pods.requirements];
  if (requirements.length === 0 || !requirements.every(isNegative)) return undefined;
  return namespaces.kind === 'name' ? { namespaces, pods: EVERYTHING } : EVERY_POD;
}

function isNegative({ operator }: Requirement): boolean {
  return operator === 'NotIn' || operator === 'DoesNotExist';
}
