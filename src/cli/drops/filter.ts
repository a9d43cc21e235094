/** Which denials somebody wants to see. */

import { isCalledAnywhere } from '../../model/policyname.ts';
import { type Denial, type DenialEnd, deniersOf } from '../../observe/denials/denial.ts';

export interface EndFilter {
  /** Of one of the ends. */
  readonly namespace?: string;
  /** `web`, `shop/web`: one of the ends; a name alone is of any namespace, or of the one that is asked for. */
  readonly pod?: string;
}

export interface DropFilter extends EndFilter {
  /** `shop/web`, `web`, `NetworkPolicy shop/web`, `cnp:platform`. */
  readonly policy?: string;
}

export function isWanted({ from, to, cause }: Denial, { policy, ...ends }: DropFilter): boolean {
  return (
    hasWantedEnd([from, to], ends) &&
    (policy === undefined || deniersOf(cause).some(id => isCalledAnywhere(id, policy)))
  );
}

export function hasWantedEnd(ends: readonly DenialEnd[], { namespace, pod }: EndFilter): boolean {
  if (namespace !== undefined && !ends.some(end => end.pod?.startsWith(`${namespace}/`))) return false;
  return pod === undefined || ends.some(end => end.pod !== undefined && isPod(end.pod, pod, namespace));
}

/** Whether the pod of this key is meant. */
export function isPod(pod: string, asked: string, namespace: string | undefined): boolean {
  if (asked.includes('/')) return pod === asked;
  return namespace === undefined ? pod.endsWith(`/${asked}`) : pod === `${namespace}/${asked}`;
}
