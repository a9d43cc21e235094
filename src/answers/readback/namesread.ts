/** What each pod was told by DNS, read from the sets of names: their elements are pairs `pod . address`. */
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { NftSet, Ruleset } from '../../nft/ruleset.ts';
import type { NamesInspection, PodInspection } from './inspection.ts';

/** Of a pod and a set; there may be a thousand of each name. */
const MOST_ADDRESSES = 100;

export function withToldNames(ruleset: Ruleset, pods: readonly PodInspection[]): PodInspection[] {
  const sets = namesSets(ruleset);
  if (sets.length === 0) return [...pods];
  const told = new Map(sets.map(set => [set, byPod(set)]));
  return pods.map(pod => {
    const names = pod.egress === undefined ? [] : namesOf(pod, told);
    return names.length === 0 ? pod : { ...pod, names };
  });
}

/** Those of both tables; a set has one name in both. */
function namesSets({ tables }: Ruleset): NftSet[] {
  return [...tables.values()].flatMap(({ sets }) =>
    [...sets.values()].filter(({ dynamic, key }) => dynamic !== undefined && key.length === 2),
  );
}

type Told = ReadonlyMap<string, readonly { readonly address: string; readonly leftSeconds: number }[]>;

function byPod({ elements }: NftSet): Told {
  const found = new Map<string, { address: string; leftSeconds: number }[]>();
  for (const [key, { leftMs = 0 }] of elements) {
    const [pod = '', address = ''] = key.split(' . ');
    const leftSeconds = Math.round(leftMs / 1_000);
    getOrMake(found, pod, () => []).push({ address, leftSeconds });
  }
  return found;
}

function namesOf({ addresses }: PodInspection, told: ReadonlyMap<NftSet, Told>): NamesInspection[] {
  const found = new Map<string, NamesInspection>();
  for (const [{ name: set, comment }, pods] of told) {
    const own = addresses.flatMap(address => pods.get(address) ?? []);
    if (own.length === 0) continue;
    const all = [...(found.get(set)?.addresses ?? []), ...own].sort((a, b) => b.leftSeconds - a.leftSeconds);
    const total = own.length + (found.get(set)?.total ?? 0);
    found.set(set, { set, peers: comment ?? set, addresses: all.slice(0, MOST_ADDRESSES), total });
  }
  return [...found.values()];
}
