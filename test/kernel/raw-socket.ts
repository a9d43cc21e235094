/** Sends whole IP packets through the output hook of the network namespace in which it was made. */
import koffi from 'koffi';
import { addressBytes, type Family, parseAddress } from '../../src/model/address.ts';

const libc = koffi.load(null);
const socket = libc.func('int socket(int family, int type, int protocol)');
const sendto = libc.func(
  'long sendto(int fd, void *data, size_t length, int flags, void *address, int size)',
);
const close = libc.func('int close(int fd)');

const AF = { ip: 2, ip6: 10 } as const;
const SOCK_RAW = 3;
const IPPROTO_RAW = 255; // the packet has its header already
const EPERM = 1;

export class RawSocket {
  readonly #family: Family;
  readonly #fd: number;

  constructor(family: Family) {
    this.#family = family;
    this.#fd = socket(AF[family], SOCK_RAW, IPPROTO_RAW);
    if (this.#fd < 0) throw new Error(`socket: errno ${koffi.errno()} (root is needed)`);
  }

  /** The verdict: a packet that is dropped on its way out is refused to its sender. */
  send(packet: Uint8Array, to: string): 'accept' | 'drop' {
    const address = socketAddress(this.#family, to);
    if (sendto(this.#fd, packet, packet.length, 0, address, address.length) === packet.length)
      return 'accept';
    if (koffi.errno() === EPERM) return 'drop';
    throw new Error(`sendto ${to}: errno ${koffi.errno()}`);
  }

  close(): void {
    close(this.#fd);
  }
}

/** struct sockaddr_in, struct sockaddr_in6: of port, flow and scope zero. */
function socketAddress(family: Family, to: string): Uint8Array {
  const bytes = Buffer.alloc(family === 'ip' ? 16 : 28);
  bytes.writeUInt16LE(AF[family], 0);
  bytes.set(addressBytes(parseAddress(to)!), family === 'ip' ? 4 : 8);
  return bytes;
}
