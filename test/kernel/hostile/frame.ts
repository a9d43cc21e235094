/** Sends frames as they are, from an interface of a network namespace: whoever has NET_RAW writes every byte. */
import {
  close,
  type Fd,
  SOCK_RAW,
  SystemError,
  send,
  socket,
  takeOffloads,
} from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';

const AF_PACKET = 17;
const ETHERTYPE = { 4: 0x0800, 6: 0x86dd } as const;

export class FrameSocket {
  readonly #fd: Fd;
  readonly #index: number;
  readonly #mac: string;

  /** `index` and `mac` are those of the interface; with `offloads` frames begin with how a card is to cut them. */
  constructor(namespace: string, index: number, mac: string, offloads = false) {
    this.#fd = inNamespace(namespace, () => socket(AF_PACKET, SOCK_RAW));
    if (offloads) takeOffloads(this.#fd);
    this.#index = index;
    this.#mac = mac;
  }

  /** `packet` begins with its IP header; `tags` are types of VLAN tags in front of it. */
  send(packet: Uint8Array, toMac: string, tags: readonly number[] = []): void {
    const header = Buffer.alloc(14 + 4 * tags.length);
    header.set(macBytes(toMac), 0);
    header.set(macBytes(this.#mac), 6);
    // Each tag is its own type, and number 0.
    const types = [...tags, ETHERTYPE[(packet[0]! >> 4) as 4 | 6]];
    types.forEach((type, at) => {
      header.writeUInt16BE(type, 12 + 4 * at);
    });
    this.sendRaw(Buffer.concat([header, packet]));
  }

  /** With the Ethernet header that it has. */
  sendRaw(frame: Uint8Array): void {
    send(this.#fd, frame, this.#address());
  }

  /** The same, unless the kernel knows no way to cut it so; answers whether it was sent. */
  trySendRaw(frame: Uint8Array): boolean {
    try {
      this.sendRaw(frame);
      return true;
    } catch (error) {
      if (error instanceof SystemError) return false;
      throw error;
    }
  }

  close(): void {
    close(this.#fd);
  }

  /** struct sockaddr_ll: the frame has its header already. */
  #address(): Uint8Array {
    const bytes = Buffer.alloc(20);
    bytes.writeUInt16LE(AF_PACKET, 0);
    bytes.writeInt32LE(this.#index, 4);
    return bytes;
  }
}

export function macBytes(text: string): number[] {
  return text.split(':').map(part => Number.parseInt(part, 16));
}
