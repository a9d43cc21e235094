/** Addresses that pods have by answers of DNS, as the kernel has them: the elements of the sets of names. */
import { Incremental } from '../../compiler/live/incremental.ts';
import { dnsQueueIn } from '../../compiler/namespeers.ts';
import type { Address } from '../../model/address.ts';
import type { Cluster, PodKey, Resolved } from '../../model/cluster.ts';
import { clusterEvents } from '../../model/clusterevents.ts';
import type { NamesPod, NamesSet } from '../../names/subjects.ts';
import type { Ruleset } from '../../nft/ruleset.ts';

/** Which pod a set belongs to follows from the pods that the cluster has on the node. */
export function resolvedInKernel(ruleset: Ruleset, cluster: Cluster, node: string): Resolved {
  const engine = new Incremental(node, 'allow', 'others', dnsQueueIn(ruleset, 'nft'));
  for (const event of clusterEvents(cluster)) engine.apply(event);
  engine.flush();
  const { pods, sets } = engine.namesSubjects;
  const found = new Set(sets.flatMap(set => elementsOf(ruleset, set)));
  const addressesOf = new Map<PodKey, NamesPod['addresses']>(pods.map(pod => [pod.key, pod.addresses]));
  const meaning = (pattern: string) => sets.filter(({ patterns }) => patterns.includes(pattern));
  return {
    has: (pod, address, pattern) =>
      meaning(pattern).some(({ name }) =>
        (addressesOf.get(pod) ?? []).some(own => found.has(elementText(name, own, address))),
      ),
  };
}

function elementsOf({ tables }: Ruleset, { name }: NamesSet): string[] {
  return [...tables.values()].flatMap(({ sets }) =>
    [...(sets.get(name)?.elements.keys() ?? [])].map(key => `${name} ${key}`),
  );
}

function elementText(set: string, pod: Address, peer: Address): string {
  return `${set} ${pod} . ${peer}`;
}
