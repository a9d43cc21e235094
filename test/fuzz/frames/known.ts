/** Ways past policy that were found: by what their sequences have. */

import type { Wiring } from './network.ts';
import { type Frame, isGroup, type Packet, type Sequence } from './packet.ts';

export interface Known {
  readonly name: string;
  matches(sequence: Sequence, wiring: Wiring): boolean;
}

const packetOf = ({ content }: Frame): Packet | undefined =>
  content.kind === 'packet' ? content.packet : undefined;
const some = (sequence: Sequence, is: (packet: Packet, frame: Frame) => boolean) =>
  sequence.some(frame => {
    const packet = packetOf(frame);
    return packet !== undefined && is(packet, frame);
  });

const OVERLAY_ADDRESSES = ['flannel.1 of n2', 'cni0 of n2', 'Service ofOverlay', 'second address of n2'];

function isRejected({ to, protocol, port }: Packet): boolean {
  const isServed = (protocol === 17 && port === 53) || (protocol === 6 && port === 80);
  return to.name === 'Service without endpoints' || (to.name.startsWith('Service') && !isServed);
}

export const KNOWN: readonly Known[] = [
  {
    name: 'the overlay unwraps what a pod wraps',
    matches: sequence =>
      some(
        sequence,
        ({ inside, to, protocol }) =>
          inside?.by === 'vxlan' && protocol === 17 && OVERLAY_ADDRESSES.includes(to.name),
      ),
  },
  {
    name: 'the exception for DHCP',
    matches: sequence =>
      some(
        sequence,
        ({ from, port, protocol }) => from.address === '0.0.0.0' && protocol === 17 && port === 67,
      ),
  },
  {
    name: 'confirmed by the bridge',
    matches: (sequence, wiring) => wiring === 'bridge' && some(sequence, (_, frame) => isGroup(frame.toMac)),
  },
  {
    name: 'rejected before its sender is asked',
    matches: (sequence, wiring) =>
      some(sequence, packet => isRejected(packet) && (wiring === 'ptp' || packet.from.address === '0.0.0.0')),
  },
  {
    name: 'from no address by IPv6',
    matches: (sequence, wiring) => wiring === 'bridge' && some(sequence, ({ from }) => from.address === '::'),
  },
  {
    name: 'ARP of other operations, and of no address',
    matches: (sequence, wiring) =>
      wiring === 'bridge' &&
      sequence.some(
        ({ content }) =>
          content.kind === 'arp' && (![1, 2].includes(content.operation) || content.to.address === '0.0.0.0'),
      ),
  },
];
