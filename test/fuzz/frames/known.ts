/**
 * Ways past policy that the fuzzer has found and that are not closed yet, by what their sequences have in common. An entry
 * goes with its mend: test/kernel/hostile/fuzz.test.ts fails where one that is open is not found, and where one is found
 * that is not here.
 */

import type { Wiring } from './network.ts';
import { type Frame, isGroup, type Packet, type Sequence } from './packet.ts';

export interface Known {
  readonly name: string;
  /** Where it is open. */
  readonly on: readonly Wiring[];
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

/** A later piece of a packet has no port. */
function isRejected({ to, protocol, port, change }: Packet): boolean {
  const isServed = ((protocol === 17 && port === 53) || (protocol === 6 && port === 80)) && change === 0;
  return to.name === 'Service without endpoints' || (to.name.startsWith('Service') && !isServed);
}

const KNOWN: readonly Known[] = [
  {
    name: 'the overlay unwraps what a pod wraps',
    on: ['bridge', 'ptp'],
    matches: sequence =>
      some(
        sequence,
        ({ inside, to, protocol }) =>
          inside?.by === 'vxlan' && protocol === 17 && OVERLAY_ADDRESSES.includes(to.name),
      ),
  },
  {
    name: 'the exception for DHCP',
    on: ['bridge', 'ptp'],
    matches: sequence =>
      some(
        sequence,
        ({ from, port, protocol }) => from.address === '0.0.0.0' && protocol === 17 && port === 67,
      ),
  },
  {
    name: 'confirmed by the bridge',
    on: ['bridge'],
    matches: sequence => some(sequence, (_, frame) => isGroup(frame.toMac)),
  },
  {
    name: 'rejected before its sender is asked',
    on: ['bridge', 'ptp'],
    matches: (sequence, wiring) =>
      some(sequence, packet => isRejected(packet) && (wiring === 'ptp' || packet.from.address === '0.0.0.0')),
  },
  {
    // What an accomplice opened is asked for before where it comes from (N69), and a bridge does not route.
    name: 'from no address or a link-local one, as an answer',
    on: ['bridge'],
    matches: sequence =>
      some(sequence, ({ from }) => from.address === '::' || from.address.startsWith('fe80:')),
  },
  {
    name: 'ARP of other operations, and of no address',
    on: ['bridge'],
    matches: sequence =>
      sequence.some(
        ({ content }) =>
          content.kind === 'arp' && (![1, 2].includes(content.operation) || content.to.address === '0.0.0.0'),
      ),
  },
];

export function knownOn(wiring: Wiring): readonly Known[] {
  return KNOWN.filter(({ on }) => on.includes(wiring));
}
