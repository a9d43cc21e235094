/** Policies by what their subject asks for, so that a pod is looked for among those alone that may select it. */
import type { Pod } from '../model/cluster.ts';
import type { Policy } from '../model/policy.ts';
import type { PodSelector } from '../model/selector.ts';

interface Ranked {
  readonly rank: number;
  readonly policy: Policy;
}

/** In the order of `policies`: all that select the pod, or may, are among them. */
export function policyIndex(policies: readonly Policy[]): (pod: Pod) => readonly Policy[] {
  const counts = new Map<string, number>();
  for (const { subject } of policies)
    for (const key of requiredOf(subject).flat()) counts.set(key, (counts.get(key) ?? 0) + 1);
  const found = new Map<string, Ranked[]>();
  for (const [rank, policy] of policies.entries())
    for (const key of new Set(rarest(requiredOf(policy.subject), counts))) {
      const known = found.get(key);
      if (known === undefined) found.set(key, [{ rank, policy }]);
      else known.push({ rank, policy });
    }
  return pod => {
    // Of one whose labels are not known any policy may mean it (N68).
    if (pod.partial) return policies;
    const candidates = [...new Set(keysOf(pod))].flatMap(key => found.get(key) ?? []);
    return candidates.sort((a, b) => a.rank - b.rank).map(({ policy }) => policy);
  };
}

const ANY = '';

/** One of the keys of each list a pod has to have: by the namespace that is named, and each label that is asked for. */
function requiredOf({ namespaces, pods }: PodSelector): readonly (readonly string[])[] {
  const namespace = namespaces.kind === 'name' ? namespaces.name : ANY;
  const labels = pods.requirements.filter(({ operator }) => operator === 'In');
  return [
    [textOf(namespace, ANY)],
    ...labels.map(({ key, values }) => values.map(value => textOf(namespace, labelText(key, value)))),
  ];
}

/** The list whose keys fewest policies share. */
function rarest(
  lists: readonly (readonly string[])[],
  counts: ReadonlyMap<string, number>,
): readonly string[] {
  const shared = (keys: readonly string[]) => keys.reduce((sum, key) => sum + counts.get(key)!, 0);
  return lists.reduce((least, keys) => (shared(keys) < shared(least) ? keys : least));
}

function keysOf({ namespace, labels }: Pod): readonly string[] {
  const texts = [ANY, ...Object.entries(labels).map(([key, value]) => labelText(key, value))];
  return [ANY, namespace].flatMap(name => texts.map(text => textOf(name, text)));
}

/** Of two labels never the same. */
function labelText(key: string, value: string): string {
  return `${key.length} ${key}${value}`;
}

function textOf(namespace: string, label: string): string {
  return `${namespace} ${label}`;
}
