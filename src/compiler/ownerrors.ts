/**
 * Errors of ICMP that the node itself sends. The kernel sends some before any rule has seen the packet that they are
 * about, to whoever that says it is from, with as much of it as there is room for: a pod that may send nothing would have
 * its node carry it to anybody. Nothing at `output` tells by which link it came, so nobody is told
 *
 *     that an option is wrong               read before prerouting (IPv6), or before forward (IPv4)
 *     that a piece did not come in time     kept back before prerouting
 *     that its hops have ended, or that
 *     there is a better way                 before forward: where nothing asks who sends until there
 *
 * What is said of packets that are too big, or have no way, stays: connections depend on it.
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
/** Of time exceeded: of its pieces some did not come. */
const REASSEMBLY = 1;

export function toOwnErrors(family: Family): NftRule {
  return { exprs: [...protocolIs(family, ICMP_OF[family]), verdict('goto', OWN_ERRORS)] };
}

export function ownErrors(family: Family, network: NodeNetwork): Chain {
  const { parameter, time, redirect } = TYPES[family];
  const ofTime = icmpTypeIs(family, time);
  const late = asksBeforeForward(network)
    ? [[...ofTime, ...icmpCodeIs(REASSEMBLY)]]
    : [ofTime, icmpTypeIs(family, redirect)];
  return { name: OWN_ERRORS, rules: [icmpTypeIs(family, parameter), ...late].map(dropped) };
}

/** At the port of a bridge (podports.ts), or at prerouting (attachedpods.ts). */
function asksBeforeForward({ links, podLinks }: NodeNetwork): boolean {
  return podLinks === 'ours' || links.podBridges.length > 0;
}

function dropped(exprs: NftRule['exprs']): NftRule {
  return { exprs: [...exprs, verdict('drop')], comment: 'of a packet whose sender nobody asked about' };
}
