/**
 * ICMP errors that the node itself sends. The kernel sends some of them before any rule has seen the packet that they
 * are about. They go to that packet's source address, which may be forged, and quote as much of the packet as fits: a
 * pod that may send nothing could have its node carry data to any address. At `output` nothing says by which link the
 * quoted packet arrived, so these errors are sent to no address:
 *
 *     an option is wrong                       sent before prerouting (IPv6), or before forward (IPv4)
 *     a fragment did not arrive in time        sent before prerouting
 *     the hop limit is reached, or redirect    sent before forward, where no earlier rule checks the sender
 *
 * Errors about packets that are too big, or that have no route, stay: connections depend on them.
 */
import type { Family } from '../model/address.ts';
import { ICMP_OF } from '../model/ipprotocol.ts';
import { icmpCodeIs, icmpTypeIs, protocolIs, verdict } from '../nft/match.ts';
import type { Chain, NftRule } from '../nft/ruleset.ts';
import type { NodeNetwork } from './podlinks.ts';

const OWN_ERRORS = 'own-errors';

const TYPES = {
  ip: { parameter: 12, time: 11, redirect: 5 },
  ip6: { parameter: 4, time: 3, redirect: 137 },
} as const;
/** The code of time exceeded for packets of which fragments are missing. */
const REASSEMBLY = 1;

export function gotoOwnErrors(family: Family): NftRule {
  return { exprs: [...protocolIs(family, ICMP_OF[family]), verdict('goto', OWN_ERRORS)] };
}

export function ownErrors(family: Family, network: NodeNetwork): Chain {
  const { parameter, time, redirect } = TYPES[family];
  const ofTime = icmpTypeIs(family, time);
  const late = checksSendersBeforeForward(network)
    ? [[...ofTime, ...icmpCodeIs(REASSEMBLY)]]
    : [ofTime, icmpTypeIs(family, redirect)];
  return { name: OWN_ERRORS, rules: [icmpTypeIs(family, parameter), ...late].map(dropped) };
}

/**
 * Whether senders are checked before the forward hook: by the port of a bridge (podports.ts), or at prerouting
 * (attachedpods.ts).
 */
function checksSendersBeforeForward({ links, podLinks }: NodeNetwork): boolean {
  return podLinks === 'ours' || links.podBridges.length > 0;
}

function dropped(exprs: NftRule['exprs']): NftRule {
  return { exprs: [...exprs, verdict('drop')], comment: 'of a packet whose sender nobody asked about' };
}
