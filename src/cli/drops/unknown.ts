/** Of what somebody asks for, what the agent knows nothing of: nothing is found of what is mistyped, either. */

import type { AgentClient } from '../../api/rpc/client.ts';
import type { PolicyId } from '../../model/policy.ts';
import { isCalledAnywhere } from '../../model/policyname.ts';
import { type DropFilter, isPod } from './filter.ts';

type Known = Pick<Awaited<ReturnType<AgentClient['state']>>[number], 'type' | 'key'>;

/** `pod shop/wbe`, `policy cnp:x`; nothing where the agent cannot tell. */
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
