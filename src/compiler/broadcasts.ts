/**
 * N71: on a bridge a pod's broadcast would reach all others, whatever their policies. A bridge's own network may be
 * another than the pod networks of the node, and then its broadcast address is known from the bridge alone.
 */
import type { Address, Family } from '../model/address.ts';
import { addressInNetwork } from '../nft/match.ts';
import type { Expr } from '../nft/ruleset.ts';

export const OF_BRIDGE = 'from a pod to everybody of its bridge';

/** The packets that are for it. */
export function toBroadcast(base: Address, family: Family): Expr[][] {
  return family === 'ip' ? [addressInNetwork({ family, base, prefix: 32 }, 'daddr')] : [];
}
