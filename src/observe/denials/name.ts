/** Adds names to a denied packet: its source, its destination, and the cause of the denial. */
import type { Address } from '../../model/address.ts';
import { flowText } from '../../semantics/flowtext.ts';
import { causeOf, type DeniedPacket } from './cause.ts';
import { type Denial, type DenialEnd, type DialledService, podFacts } from './denial.ts';
import type { ModelView } from './modelview.ts';
import type { PacketHead } from './packethead.ts';
import type { ServiceOf } from './servicenames.ts';

/** The parts of a denial that one packet shows. */
export type NamedDenial = Omit<Denial, 'number' | 'atMs' | 'lastMs' | 'times'>;

export function nameDenial(packet: DeniedPacket, view: ModelView, serviceOf: ServiceOf): NamedDenial {
  const { from, to, protocol, sourcePort, port, icmp } = packet.head;
  const service = dialledService(packet, view, serviceOf);
  const ends = { from: namedEnd(from, view), to: namedEnd(to, view) };
  return {
    ...ends,
    ...resolvedNames(ends, view),
    protocol,
    ...(sourcePort !== undefined && { sourcePort }),
    ...(port !== undefined && { port }),
    ...(service !== undefined && { service }),
    ...(icmp !== undefined && { icmp: { type: icmp.type, code: icmp.code } }),
    ...(icmp?.about !== undefined && { about: aboutText(icmp.about) }),
    cause: causeOf(packet, view),
  };
}

/** The destination that was dialled, and the one that the packet has now. */
interface Dialling extends Pick<DeniedPacket, 'dialled'> {
  readonly head: Pick<PacketHead, 'to' | 'port' | 'protocol'>;
}

/**
 * The dialled Service: after a translation with or without a name, otherwise only if it has a name and is no pod's
 * address.
 */
export function dialledService(
  { head, dialled }: Dialling,
  view: ModelView,
  serviceOf: ServiceOf,
): DialledService | undefined {
  const { to, port, protocol } = head;
  const translated = dialled !== undefined && (dialled.address !== to || dialled.port !== port);
  const asked = translated ? dialled : { address: to, ...(port !== undefined && { port }) };
  if (!translated && view.ownerOf(to) !== undefined) return undefined;
  const name = serviceOf({ ...asked, protocol, isOfNode: view.nodeWith(asked.address) !== undefined });
  if (name === undefined) return translated ? dialled : undefined;
  return { ...asked, name };
}

/** The pod that has the address, or had it until a minute ago. */
export function namedEnd(address: Address, view: ModelView): DenialEnd {
  const pod = view.ownerOf(address);
  if (pod !== undefined) return { address, pod: pod.key, ...podFacts(pod) };
  const former = view.formerOwnerOf(address);
  if (former !== undefined) return { address, pod: former.pod.key, gone: true, ...podFacts(former.pod) };
  const node = view.nodeWith(address);
  return node === undefined ? { address } : { address, node: node.name };
}

/** The names that rules by name used. */
export function resolvedNames(
  { from, to }: Pick<Denial, 'from' | 'to'>,
  view: ModelView,
): Pick<Denial, 'names'> {
  if (from.pod === undefined) return {};
  const names = view.namesOf(from.pod, to.address);
  return names.length === 0 ? {} : { names };
}

function aboutText({ from, to, protocol, port }: PacketHead): string {
  return flowText({ from, to, protocol, ...(port !== undefined && { port }) });
}
