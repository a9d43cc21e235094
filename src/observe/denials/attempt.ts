/** Which packets belong to one attempt, and whose it is: nobody has his attempt counted with another's. */

import type { Origin } from '../../lib/fairness/quota.ts';
import type { Address } from '../../model/address.ts';
import type { Pod } from '../../model/cluster.ts';
import type { DeniedPacket } from './cause.ts';
import type { ModelView } from './modelview.ts';
import type { PacketHead } from './packethead.ts';

export interface DeniedAttempt extends Origin {
  /** The same for all its packets. */
  readonly key: string;
}

export function attemptOf(packet: DeniedPacket, view: ModelView): DeniedAttempt {
  const { from, to } = packet.head;
  const [sender, receiver] = [podWith(from, view), podWith(to, view)];
  const origin = { group: groupOf(packet, sender, view.node), source: sender?.key ?? from };
  // An address may be another pod's by now, which attempts for itself.
  const key = [origin.group, origin.source, receiver?.key, packetKey(packet.head)].join(' ');
  return { ...origin, key };
}

/** A packet whose source address is not believed is of its link, in whosever name it comes. */
function groupOf({ isOfLink, iif }: DeniedPacket, sender: Pod | undefined, node: string): string {
  if (isOfLink) return `link ${iif}`;
  return sender?.node === node ? `pod ${sender.key}` : 'outside';
}

/** Who has the address, or had it until a moment ago. */
function podWith(address: Address, view: ModelView): Pod | undefined {
  return view.ownerOf(address) ?? view.formerOwnerOf(address)?.pod;
}

/** What TCP sends again bears the same number; another attempt from the same port has another. */
function packetKey({ from, to, protocol, sourcePort, port, tcp, icmp, fragment }: PacketHead): string {
  const own =
    tcp !== undefined
      ? `${tcp.sequence} ${tcp.flags}`
      : icmp === undefined
        ? ''
        : `${icmp.type} ${icmp.code} ${icmp.id ?? ''}`;
  return `${from} ${to} ${protocol} ${sourcePort ?? ''} ${port ?? ''} ${own}${fragment ?? ''}`;
}
