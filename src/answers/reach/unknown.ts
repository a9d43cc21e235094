/** What an answer about all connections leaves open, and what it was made from. */

import { firstOf } from '../../lib/text/firstof.ts';
import { plural } from '../../lib/text/plural.ts';
import { cidrText, type Family } from '../../model/address.ts';
import { type Cluster, isSelectable } from '../../model/cluster.ts';
import type { NetworkPeer } from '../../model/policy.ts';
import { cidrsOf } from '../../model/ranges.ts';
import { unseenTunnelNodes } from '../../semantics/tunnelends.ts';
import { podSpaces, rangesText } from '../questions/ranges.ts';
import type { ConnectionPool, Connections } from './connections.ts';
import { connectionsText } from './connectionstext.ts';
import { familiesOf } from './places.ts';
import type { Reach } from './reach.ts';

/** How much was compared or judged. */
export interface Counts {
  readonly workloads: number;
  readonly policies: number;
}

/** `12 workloads and 7 policies`. */
export function countsText({ workloads, policies }: Counts): string {
  return `${plural(workloads, 'workload')} and ${plural(policies, 'policy')}`;
}

/** The networks that `internet` leaves out, because policies tell them apart from the rest. */
export function networksBesideInternet(reach: Reach): string[] {
  return familiesOf(reach).flatMap(family => {
    const { all, largest } = reach.families[family].ends.regions;
    const others = all.flatMap(({ addresses }, i) => (i === largest ? [] : addresses));
    return others.flatMap(range => cidrsOf({ family, ...range }).map(cidrText));
  });
}

/**
 * Says that policies tell addresses apart that pods may get which have none yet; `who` are these pods, and `listed` is
 * how the answer says what depends on it.
 */
export function unknownAddressNotes(reach: Reach, who: string, listed = 'as undecided'): string[] {
  return familiesOf(reach).flatMap(family => {
    const networks = networksThatCut(reach, family);
    if (networks.length === 0) return [];
    const spaces = podSpaces(reach.clusterIndex.cluster);
    const ranges = rangesText(spaces.filter(range => range.family === family));
    return [
      `${who} may have any address of ${ranges}: what depends on whether it is in ${firstOf(networks, MOST_NAMED)} is listed ${listed}`,
    ];
  });
}

const MOST_NAMED = 4;

/** Networks of policies that hold some of the addresses that pods may get, and not others. */
function networksThatCut({ families, clusterIndex }: Reach, family: Family): string[] {
  const { regions, possible } = families[family].ends;
  const cutting = [...clusterIndex.vocabulary.networks.values()].flatMap((network, i) => {
    const holding = possible.filter(region => regions.all[region]!.networks.has(i)).length;
    return holding > 0 && holding < possible.length ? [networkName(network)] : [];
  });
  return [...new Set(cutting)];
}

function networkName({ cidr, except }: NetworkPeer): string {
  return except.length === 0 ? cidrText(cidr) : `${cidrText(cidr)} except ${except.map(cidrText).join(', ')}`;
}

/**
 * Says which connections of pods out of the pod networks their nodes may deny, as what would enter a tunnel of the node's
 * own (N72). `leaving` are all that policy allows.
 */
export function ownTunnelNotes(
  clusters: readonly Cluster[],
  pool: ConnectionPool,
  leaving: () => readonly Connections[],
): string[] {
  const nodes = [...new Set(clusters.flatMap(nodesWithTunnels))].sort();
  if (nodes.length === 0) return [];
  const found = leaving().reduce((some, each) => pool.or(some, pool.and(each, pool.tunnels)), pool.none);
  if (found === pool.none) return [];
  return [
    `what pods send out of the pod networks on ${connectionsText(pool, found)} is taken to be allowed: a node with a tunnel of its own there denies it, and only its agent knows (${firstOf(nodes, MOST_NAMED)})`,
  ];
}

/** Nodes of pods. */
function nodesWithTunnels(cluster: Cluster): string[] {
  const inhabited = new Set([...cluster.pods.values()].filter(isSelectable).map(({ node }) => node));
  return unseenTunnelNodes(cluster).flatMap(({ name }) => (inhabited.has(name) ? [name] : []));
}
