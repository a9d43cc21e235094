/** A sequence for people: who sends what. */
import { changesOf } from './changes.ts';
import type { Frame, Packet, Sequence } from './packet.ts';
import type { Hit } from './stage.ts';

const PROTOCOLS: Readonly<Record<number, string>> = {
  1: 'ICMP',
  6: 'TCP',
  17: 'UDP',
  58: 'ICMPv6',
  132: 'SCTP',
};

export function sequenceText(sequence: Sequence): string {
  return sequence.map((frame, i) => `  ${i + 1}. ${frameText(frame)}\n`).join('');
}

function frameText({ by, toMac, fromMac, types, content }: Frame): string {
  const mac = `${toMac === 'route' ? '' : ` at hardware address "${toMac}"`}${fromMac === 'own' ? '' : ` as "${fromMac}"`}`;
  const tags = types.map(type => ` behind type 0x${type.toString(16)}`).join('');
  return `${by} sends${mac}${tags}: ${contentText(content)}`;
}

function contentText(content: Frame['content']): string {
  if (content.kind === 'other') return `type 0x${content.type.toString(16)}`;
  if (content.kind === 'packet') return packetText(content.packet);
  return `ARP operation ${content.operation} as ${content.from.name} (${content.senderMac}) to ${content.to.name}`;
}

function packetText(packet: Packet): string {
  const { family, from, to, protocol, hops, repeats, change, inside } = packet;
  const more = [
    changesOf(family)[change]!.name,
    hops === 64 ? '' : `${hops} hops`,
    repeats > 1 ? `${8 * repeats} bytes` : '',
  ].filter(text => text !== '');
  const content =
    inside === undefined
      ? ''
      : inside.by === 'error'
        ? ` about [${packetText(inside.packet)}]`
        : ` with ${inside.by} [${packetText(inside.packet)}]`;
  const ends = `${placeText(from, packet.sourcePort, protocol)} -> ${placeText(to, packet.port, protocol)}`;
  return `${PROTOCOLS[protocol] ?? `protocol ${protocol}`}${detail(packet)} ${ends}${more.length > 0 ? ` (${more.join(', ')})` : ''}${content}`;
}

function placeText({ name, address }: Packet['from'], port: number, protocol: number): string {
  const at = [6, 17, 33, 132, 136].includes(protocol) ? `${address}|${port}` : address;
  return name === address ? at : `${name} (${at})`;
}

function detail({ protocol, icmp, tcpFlags }: Packet): string {
  if (protocol === 1 || protocol === 58) return ` type ${icmp.join(' code ')}`;
  return protocol === 6 ? ` flags ${tcpFlags}` : '';
}

export function hitText(hit: Hit, sequence: Sequence): string {
  if (hit.kind === 'heard')
    return `${hit.hearer} hears frame ${hit.frame + 1}, of ${sequence[hit.frame]?.by}`;
  const { flow, sourcePort, dialled } = hit.connection;
  return `n1 tracks ${flow.protocol} ${flow.from}|${sourcePort ?? ''} -> ${dialled ?? flow.to}|${flow.port ?? ''}`;
}
