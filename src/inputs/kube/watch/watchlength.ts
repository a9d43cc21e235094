/**
 * How long a watch lasts until the server ends it, as it was asked to, and it is asked anew on the same connection. A
 * watch whose server is gone does not end, whoever else keeps its connection alive, a load balancer for one: that is
 * how it is found dead. All agents together ask a server for no more than a hundred watches a second, each of which it
 * answers from its memory; up to some 180 nodes a watch lasts 15 s at most.
 */

/** Of each agent: as many as there are resources that it follows. */
const WATCHES = 8;
const MOST_PER_SECOND = 100;
const SHORTEST_S = 15;
/** As others ask; the first watch of all, which begins with a list, for as long as that may take. */
export const LONGEST_S = 600;

/** At most, in a cluster of so many nodes. */
export function watchSeconds(nodes: number): number {
  return Math.min(LONGEST_S, Math.max(SHORTEST_S, (nodes * WATCHES) / MOST_PER_SECOND));
}

/** A half of it by lot, so that clients spread over the server's replicas, and over time. */
export function byLot(seconds: number, random: number): number {
  return Math.ceil((seconds / 2) * (1 + random));
}
