/** What DNS told the pods of other nodes: the agent that answers does not know it, so a denial that it would lift is none yet. */
import { addressOwners } from '../../model/addressowners.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import { hasDomainPeers } from '../../model/domainpeers.ts';
import type { Flow } from '../../model/flow.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { DnsSnapshot } from '../../names/dnscache.ts';
import { evaluator } from '../../semantics/evaluate.ts';
import type { Case } from './judge.ts';
import type { Place } from './place.ts';
import { podOf } from './ports.ts';

/** `only the agent of n2 knows what shop/api was told`; absent of pods whose agent answers, and where nobody says which it is. */
export function resolvedElsewhere(source: Place, known: DnsSnapshot | undefined): string | undefined {
  const pod = podOf(source);
  if (known?.node === undefined || !pod?.node || pod.node === known.node) return undefined;
  return onlyAgentOf(pod);
}

/** Of each denial that an answer of DNS may have lifted without this agent's knowledge: why. */
export function undecidedDenials(
  cluster: Cluster,
  cases: readonly Case[],
  known: DnsSnapshot | undefined,
  unknownPods: UnknownPods,
): ReadonlyMap<Case, string> {
  const found = new Map<Case, string>();
  // Of a name the verdict is what holds once it was told.
  const denied = cases.filter(
    ({ to, verdict }) => to.place.domain === undefined && verdict.verdict === 'deny',
  );
  const elsewhere = denied.filter(({ from }) => resolvedElsewhere(from, known) !== undefined);
  if (elsewhere.length === 0 || !hasNames(cluster)) return found;
  const evaluate = evaluatorWithAllResolved(cluster, unknownPods);
  for (const each of elsewhere)
    if (evaluate(each.flow).verdict === 'allow') found.set(each, resolvedElsewhere(each.from, known)!);
  return found;
}

/** The same of one connection, by whoever has only the word of `node`. */
export function undecidedDenial(
  cluster: Cluster,
  flow: Flow,
  node: string,
  unknownPods: UnknownPods,
): string | undefined {
  const pod = addressOwners(cluster).get(flow.from);
  if (!pod?.node || pod.node === node || !hasNames(cluster)) return undefined;
  if (evaluator(cluster, unknownPods)(flow).verdict === 'allow') return undefined;
  return evaluatorWithAllResolved(cluster, unknownPods)(flow).verdict === 'allow'
    ? onlyAgentOf(pod)
    : undefined;
}

function onlyAgentOf({ node, key }: Pod): string {
  return `only the agent of ${node} knows what ${key} was told`;
}

function hasNames({ policies }: Cluster): boolean {
  return [...policies.values()].some(hasDomainPeers);
}

function evaluatorWithAllResolved(cluster: Cluster, unknownPods: UnknownPods) {
  return evaluator({ ...cluster, resolved: { has: () => true } }, unknownPods);
}
