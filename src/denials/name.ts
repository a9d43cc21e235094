/** A denied packet by the names of its ends, and why it was denied. */
import type { Address } from '../model/address.ts';
import { flowText } from '../semantics/flowtext.ts';
import { causeOf, type DeniedPacket } from './cause.ts';
import type { Denial, DenialEnd } from './denial.ts';
import type { ModelView } from './modelview.ts';
import type { PacketHead } from './packethead.ts';

/** All of a denial that the packet says. */
export type NamedDenial = Omit<Denial, 'number' | 'atMs' | 'lastMs' | 'times'>;

/** `serviceOf` names the Service that has an address, where somebody knows. */
export function nameDenial(
  packet: DeniedPacket,
  view: ModelView,
  serviceOf: (address: Address) => string | undefined,
): NamedDenial {
  const { head, dialled } = packet;
  const { from, to, protocol, sourcePort, port, icmp } = head;
  const translated = dialled !== undefined && (dialled.address !== to || dialled.port !== port);
  const service = translated ? dialled : serviceOf(to) === undefined ? undefined : endOf(to, port);
  return {
    from: namedEnd(from, view),
    to: namedEnd(to, view),
    protocol,
    ...(sourcePort !== undefined && { sourcePort }),
    ...(port !== undefined && { port }),
    ...(service !== undefined && { service: { ...service, ...named(serviceOf(service.address)) } }),
    ...(icmp !== undefined && { icmp: { type: icmp.type, code: icmp.code } }),
    ...(icmp?.about !== undefined && { about: aboutText(icmp.about) }),
    cause: causeOf(packet, view),
  };
}

function endOf(address: Address, port: number | undefined) {
  return { address, ...(port !== undefined && { port }) };
}

function named(name: string | undefined): { name?: string } {
  return name === undefined ? {} : { name };
}

/** Who has the address, or had it until a moment ago. */
export function namedEnd(address: Address, view: ModelView): DenialEnd {
  const pod = view.ownerOf(address);
  if (pod !== undefined) return { address, pod: pod.key };
  const former = view.formerOwnerOf(address);
  if (former !== undefined) return { address, pod: former.pod.key, gone: true };
  const node = view.nodeWith(address);
  return node === undefined ? { address } : { address, node: node.name };
}

function aboutText({ from, to, protocol, port }: PacketHead): string {
  return flowText({ from, to, protocol, ...(port !== undefined && { port }) });
}
