/**
 * Addresses for which a verdict of policy would be wrong: no pod has them, and policy does not decide what happens to
 * them.
 */
import { type Address, cidrContains, isLoopback, parseCidr } from './address.ts';

/** Why policy has no verdict for an address; undefined if it has one. */
export function whyUnjudged(address: Address): string | undefined {
  if (isLoopback(address)) return NEVER_LEAVES;
  return UNJUDGED.find(({ network }) => cidrContains(network, address))?.why;
}

export const NEVER_LEAVES =
  'a packet to or from a loopback address never leaves its pod or node, and no policy applies to it';

const FOR_EVERYBODY = 'what a pod sends to everybody reaches no other pod, whatever policies say (N71)';
const OF_A_LINK =
  'a link-local address is of no pod that policies could mean: nothing but neighbour discovery comes from a pod by one, or to one beyond its link (N69)';
const OF_NOBODY = 'it is the address of those who have none: no policy can mean them (N69)';

const UNJUDGED = [
  ['0.0.0.0/32', OF_NOBODY],
  ['::/128', OF_NOBODY],
  ['fe80::/10', OF_A_LINK],
  ['224.0.0.0/4', FOR_EVERYBODY],
  ['255.255.255.255/32', FOR_EVERYBODY],
  ['ff00::/8', FOR_EVERYBODY],
].map(([network, why]) => ({ network: parseCidr(network!)!, why: why! }));
