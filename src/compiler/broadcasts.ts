/**
 * N71: on a bridge a pod's broadcast would reach all other pods, whatever their policies. A bridge may have another
 * network than the pod networks of the node; then its broadcast address is read from the bridge.
 */
import type { Address, Family } from '../model/address.ts';
import { addressInNetwork } from '../nft/match.ts';
import type { Expr } from '../nft/ruleset.ts';

export const OF_BRIDGE = 'from a pod to everybody of its bridge';

/** Matches packets to the broadcast address. */
export function isToBroadcastAddress(base: Address, family: Family): Expr[][] {
  return family === 'ip' ? [addressInNetwork({ family, base, prefix: 32 }, 'daddr')] : [];
}
