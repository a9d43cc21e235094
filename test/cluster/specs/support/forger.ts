/** What a pod with NET_RAW can send: frames of any content from its own interface. And what another one hears. */

import { parseAddress } from '../../../../src/model/address.ts';
import { ICMP_OF, PROTOCOL_NUMBER } from '../../../../src/model/ipprotocol.ts';
import { packet } from '../../../../src/nft/trace/packet.ts';
import { Ear } from '../../../kernel/hostile/ear.ts';
import { FrameSocket } from '../../../kernel/hostile/frame.ts';
import { command, sleep, until } from './cluster.ts';
import { connection, endpoint, type RunningPod } from './site.ts';

export interface Frame {
  readonly from: string;
  readonly to: string;
  /** A hardware address; its node's end of the link where none is given. */
  readonly mac?: string;
  /** Types of VLAN tags of number 0, the outer one first. */
  readonly tags?: readonly number[];
}

const namespaceOf = ({ pid }: RunningPod) => `/proc/${pid}/ns/net`;

// biome-ignore lint/suspicious/noExplicitAny: as ip writes it
async function ip(pod: RunningPod, ...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await command('nsenter', '-t', `${pod.pid}`, '-n', 'ip', '-j', ...args);
  if (code !== 0) throw new Error(`${pod.name}: ip ${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout);
}

export class Forger {
  readonly #socket: FrameSocket;
  /** The node's end of the pod's link. */
  readonly gateway: string;

  static async of(pod: RunningPod): Promise<Forger> {
    const [{ ifindex, address }] = await ip(pod, 'link', 'show', 'eth0');
    await connection(pod, endpoint(pod.address.replace(/\d+$/, '254'))); // makes it ask for its gateway
    const gateway = await until(`${pod.name} knows its gateway`, async () => {
      const neighbours = await ip(pod, 'neigh', 'show', 'dev', 'eth0');
      return neighbours.find(({ lladdr }: { lladdr?: string }) => lladdr !== undefined)?.lladdr;
    });
    return new Forger(new FrameSocket(namespaceOf(pod), ifindex, address), gateway);
  }

  private constructor(socket: FrameSocket, gateway: string) {
    this.#socket = socket;
    this.gateway = gateway;
  }

  /** A datagram to that port, by which it is known again. */
  send({ from, to, mac = this.gateway, tags = [] }: Frame, port: number): void {
    const ends = { from: parseAddress(from)!, to: parseAddress(to)! };
    this.#socket.send(packet({ ...ends, protocol: 'UDP', port }), mac, tags);
  }

  close(): void {
    this.#socket.close();
  }
}

/** Ports of the datagrams that reach a pod behind the rules while `act` runs, and until one to `last` has come. */
export async function heardPorts(pod: RunningPod, last: number, act: () => void): Promise<Set<number>> {
  const ears = (['ip', 'ip6'] as const).map(family => new Ear(namespaceOf(pod), family, PROTOCOL_NUMBER.udp));
  const ports = new Set<number>();
  try {
    act();
    await until(`${pod.name} hears the last datagram`, async () => {
      for (const ear of ears) for (const { payload } of ear.heard()) ports.add(payload.readUInt16BE(2));
      return ports.has(last) ? true : undefined;
    });
    return ports;
  } finally {
    for (const ear of ears) ear.close();
  }
}

/** Ports of the datagrams that ICMP errors quote which reach each of the pods within a second of `act`. */
export async function quotedPorts(pods: readonly RunningPod[], act: () => void): Promise<Set<number>[]> {
  const ears = pods.flatMap((pod, of) =>
    (['ip', 'ip6'] as const).map(family => ({
      of,
      // Behind the error's own eight bytes and the quoted header.
      portAt: 8 + (family === 'ip' ? 20 : 40) + 2,
      ear: new Ear(namespaceOf(pod), family, PROTOCOL_NUMBER[ICMP_OF[family]]),
    })),
  );
  const quoted = pods.map(() => new Set<number>());
  try {
    act();
    await sleep(1_000); // Nothing tells that no error will come.
    for (const { of, portAt, ear } of ears)
      for (const { payload } of ear.heard())
        if (payload.length >= portAt + 2) quoted[of]!.add(payload.readUInt16BE(portAt));
    return quoted;
  } finally {
    for (const { ear } of ears) ear.close();
  }
}

export async function hardwareAddress(pod: RunningPod): Promise<string> {
  const [{ address }] = await ip(pod, 'link', 'show', 'eth0');
  return address;
}
