/** What DNS told the pods of other nodes: the agent that answers does not know it, so a denial that it would lift is none yet. */
import type { Cluster } from '../model/cluster.ts';
import { hasDomainPeers } from '../model/domainpeers.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { ToldAsOf } from '../names/toldfacts.ts';
import { evaluator } from '../semantics/evaluate.ts';
import type { Case } from './judge.ts';
import type { Place } from './place.ts';
import { podOf } from './ports.ts';

/** `only the agent of n2 knows what shop/api was told`; absent of pods whose agent answers, and where nobody says which it is. */
export function toldElsewhere(source: Place, known: ToldAsOf | undefined): string | undefined {
  const pod = podOf(source);
  if (known?.node === undefined || !pod?.node || pod.node === known.node) return undefined;
  return `only the agent of ${pod.node} knows what ${pod.key} was told`;
}

/** Of each denial that an answer of DNS may have lifted without this agent's knowledge: why. */
export function unheardDenials(
  cluster: Cluster,
  cases: readonly Case[],
  known: ToldAsOf | undefined,
  unknownPods: UnknownPods,
): ReadonlyMap<Case, string> {
  const found = new Map<Case, string>();
  // Of a name the verdict is what holds once it was told.
  const denied = cases.filter(
    ({ to, verdict }) => to.place.domain === undefined && verdict.verdict === 'deny',
  );
  const elsewhere = denied.filter(({ from }) => toldElsewhere(from, known) !== undefined);
  if (elsewhere.length === 0 || ![...cluster.policies.values()].some(hasDomainPeers)) return found;
  const evaluate = evaluator({ ...cluster, told: { has: () => true } }, unknownPods);
  for (const each of elsewhere)
    if (evaluate(each.flow).verdict === 'allow') found.set(each, toldElsewhere(each.from, known)!);
  return found;
}
