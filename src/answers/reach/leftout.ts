/**
 * Notes about what a matrix and a comparison have no line of: pods on the network of their node, which to policy are
 * the node, whatever their labels are (N45, N46); and pods of which nothing is read.
 */
import { firstOf } from '../../lib/text/firstof.ts';
import { addressToInt, type Cidr, cidrsOverlap, cidrText } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Labels } from '../../model/labels.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { type Policy, rulesOf } from '../../model/policy.ts';
import { TUNNEL_PORTS, TUNNEL_PROTOCOLS } from '../../model/tunnels.ts';
import { makerText, memberName } from '../../model/workload.ts';
import { topWorkloads, workloadOf } from '../../model/workloadof.ts';
import type { Guesses } from '../questions/place.ts';
import { contains, PRIVATE } from '../questions/ranges.ts';
import { listed } from './rows.ts';

interface State {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
}

type Asked = (item: { readonly namespace: string; readonly labels: Labels }) => boolean;

/** Workloads whose pods, or whose template, are on the network of their node: `DaemonSet monitoring/node-exporter`. */
function onNodeNetwork({ cluster, inventory }: State, isAsked: Asked): readonly string[] {
  const pods = [...cluster.pods.values()].filter(pod => pod.hostNetwork && !pod.finished && isAsked(pod));
  const workloads = topWorkloads(inventory).filter(each => each.hostNetwork && isAsked(each));
  const ids = [...pods.map(pod => workloadOf(inventory, pod).id), ...workloads.map(({ id }) => id)];
  return [...new Set<string>(ids)].sort();
}

/** A note for a matrix, which has no line of them. */
export function hostNetworkNotes(state: State, isAsked: Asked): readonly string[] {
  const found = onNodeNetwork(state, isAsked);
  if (found.length === 0) return [];
  const names = listed(found.map(memberName), MOST_NAMED);
  const lines =
    state.cluster.nodes.size === 0
      ? 'there is no Node, so they are not in the matrix'
      : 'they reach, and are reached, as their nodes (node/NAME)';
  return [`on the network of their nodes, so policy does not select them: ${names}; ${lines}`];
}

/** Notes about workloads that policy selects on one side only: no connection of theirs can be compared. */
export function hostNetworkChanges(old: State, now: State, isAsked: Asked): readonly string[] {
  const [before, after] = [new Set(onNodeNetwork(old, isAsked)), new Set(onNodeNetwork(now, isAsked))];
  const moved = (ids: ReadonlySet<string>, others: ReadonlySet<string>, { cluster, inventory }: State) => {
    const known = new Set<string>([
      ...inventory.workloads.keys(),
      ...[...cluster.pods.values()].map(pod => workloadOf(inventory, pod).id),
    ]);
    return [...ids].filter(id => !others.has(id) && known.has(id)).map(memberName);
  };
  const [to, from] = [moved(after, before, old), moved(before, after, now)];
  return [
    ...(to.length > 0
      ? [`${listed(to, MOST_NAMED)}: now on the network of its node, where no policy selects it`]
      : []),
    ...(from.length > 0
      ? [`${listed(from, MOST_NAMED)}: no longer on the network of its node, so policies select it`]
      : []),
  ];
}

/** Notes on what agents do as they were started: it was judged as denied, where nobody said how. */
export function guessNotes(
  clusters: readonly Cluster[],
  guesses: Guesses | undefined,
  reachesNodes: boolean,
): readonly string[] {
  if (guesses === undefined) return [];
  const { unknownPods, podTunnels, why } = guesses;
  return [
    ...(unknownPods ? unknownPodNotes(clusters, why) : []),
    ...(podTunnels && reachesNodes ? [tunnelsText(why)] : []),
  ];
}

function tunnelsText(why: string): string {
  const what = `UDP ${TUNNEL_PORTS.join(', ')} and protocols ${TUNNEL_PROTOCOLS.join(', ')}`;
  return `what pods send to tunnels of nodes (${what}) is left out: agents deny or allow it, as they were started, and ${why}`;
}

/** Addresses of pod networks that no known pod has (N67), where a network of a policy has some of them. */
function unknownPodNotes(clusters: readonly Cluster[], why: string): readonly string[] {
  const spaces = clusters.flatMap(({ nodes }) => [...nodes.values()].flatMap(podCidrsOf));
  const networks = clusters.flatMap(({ policies }) => [...policies.values()].flatMap(insideNetworks));
  const cut = spaces.filter(space => networks.some(network => cidrsOverlap(space, network)));
  if (cut.length === 0) return [];
  const named = firstOf([...new Set(cut.map(cidrText))].sort(), MOST_NAMED);
  return [
    `addresses of ${named} that no known pod has are left out: agents deny or allow their packets, as they were started, and ${why}; --unknown-pods=deny or allow says which`,
  ];
}

/** Networks of its rules that are not all of the internet, too: nobody takes those for addresses of pods. */
function insideNetworks(policy: Policy): readonly Cidr[] {
  return rulesOf(policy)
    .flatMap(({ peers }) => (peers === 'any' ? [] : peers))
    .flatMap(peer => (peer.kind === 'network' ? [peer.cidr] : []))
    .filter(({ family, base }) => contains(PRIVATE, family, addressToInt(base)));
}

/** Pods that something makes in a way of its own, such as a Prometheus: nobody knows their labels before they are there. */
export function unreadNotes(states: readonly State[], namespace: string | undefined): readonly string[] {
  const makers = states
    .flatMap(({ inventory }) => inventory.podMakers)
    .filter(maker => namespace === undefined || maker.namespace === namespace);
  const names = [...new Set(makers.map(makerText))].sort();
  if (names.length === 0) return [];
  return [`pods of ${firstOf(names, MOST_NAMED)} are not in this answer: how these make pods is not read`];
}

const MOST_NAMED = 8;
