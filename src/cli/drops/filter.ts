/** Selects the denials that the user asks for. */

import type { AgentClient } from '../../api/rpc/client.ts';
import type { PolicyId } from '../../model/policy.ts';
import { isCalledAnywhere } from '../../model/policyname.ts';
import { type Denial, type DenialEnd, deniersOf } from '../../observe/denials/denial.ts';

export interface EndFilter {
  /** The namespace of the source or of the destination. */
  readonly namespace?: string;
  /**
   * `web`, `shop/web`: the pod that is source or destination; a name alone is of any namespace, or of the one that -n
   * names.
   */
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

/** Whether the filter means the pod of this key. */
function isPod(pod: string, asked: string, namespace: string | undefined): boolean {
  if (asked.includes('/')) return pod === asked;
  return namespace === undefined ? pod.endsWith(`/${asked}`) : pod === `${namespace}/${asked}`;
}

// Names in the filter that the agent does not know: a mistyped name finds nothing.

type Known = Pick<Awaited<ReturnType<AgentClient['state']>>[number], 'type' | 'key'>;

/**
 * The parts of the filter that the agent does not know: `pod shop/wbe`, `policy cnp:x`. Empty if the agent cannot say.
 */
export async function unknownOf(agent: Pick<AgentClient, 'state'>, filter: DropFilter): Promise<string[]> {
  const { namespace, pod, policy } = filter;
  if ((namespace ?? pod ?? policy) === undefined) return [];
  // An answer that is right without it is not spoilt by an agent that has no time for more.
  const known = await agent.state().catch(() => []);
  return known.length === 0 ? [] : unknownAmong(known, filter);
}

function unknownAmong(known: readonly Known[], { namespace, pod, policy }: DropFilter): string[] {
  const keys = (type: string) => known.filter(object => object.type === type).map(({ key }) => key);
  const pods = keys('pod');
  const hasNamespace = [...keys('namespace'), ...pods].some(key => key.split('/')[0] === namespace);
  const hasPod = pods.some(key => isPod(key, pod ?? '', namespace));
  const hasPolicy = keys('policy').some(key => isCalledAnywhere(key as PolicyId, policy ?? ''));
  return [
    ...(namespace === undefined || hasNamespace ? [] : [`namespace ${namespace}`]),
    ...(pod === undefined || hasPod ? [] : [`pod ${pod}`]),
    ...(policy === undefined || hasPolicy ? [] : [`policy ${policy}`]),
  ];
}
