/** Many frames by one call: what is sent from an interface, and what a network namespace hears. */
import koffi from 'koffi';
import {
  AF_INET,
  AF_INET6,
  bind,
  close,
  type Fd,
  POLLIN,
  SOCK_RAW,
  SystemError,
  socket,
} from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { errnoName } from '../../../src/kernel/netlink/wire/constants.ts';
import {
  libc,
  pointerTo,
  SO_RCVBUFFORCE,
  SO_SNDBUFFORCE,
  SOL_SOCKET,
} from '../../../src/kernel/netlink/wire/libc.ts';

const raw = {
  sendmmsg: libc.func('int sendmmsg(int fd, void *messages, unsigned int count, int flags)'),
  recvmmsg: libc.func('int recvmmsg(int fd, void *messages, unsigned int count, int flags, void *timeout)'),
  poll: libc.func('int poll(void *fds, unsigned long count, int timeoutMs)'),
  setsockopt: libc.func('int setsockopt(int fd, int level, int name, const int *value, uint32_t length)'),
};
const AF_PACKET = 17;
const ETH_P_ALL = 0x0300; // as the network has it
const SOL_PACKET = 263;
const PACKET_IGNORE_OUTGOING = 23;
const BUFFER_BYTES = 64 << 20;
const SLOTS = 256;
const SLOT_BYTES = 2048;
/** struct mmsghdr and struct iovec of 64-bit machines. */
const MESSAGE_BYTES = 64;
const PARTS_AT = 16;
const PART_COUNT_AT = 24;
const LENGTH_AT = 56;
const PART_BYTES = 16;

/** Slots of memory that the kernel reads from, or writes to. */
class Slots {
  readonly data = Buffer.alloc(SLOTS * SLOT_BYTES);
  readonly messages = Buffer.alloc(SLOTS * MESSAGE_BYTES);
  readonly #parts = Buffer.alloc(SLOTS * PART_BYTES);

  constructor() {
    const [data, parts] = [pointerTo(this.data), pointerTo(this.#parts)].map(BigInt) as [bigint, bigint];
    for (let slot = 0; slot < SLOTS; slot++) {
      this.#parts.writeBigUInt64LE(data + BigInt(slot * SLOT_BYTES), slot * PART_BYTES);
      this.setLength(slot, SLOT_BYTES);
      this.messages.writeBigUInt64LE(parts + BigInt(slot * PART_BYTES), slot * MESSAGE_BYTES + PARTS_AT);
      this.messages.writeBigUInt64LE(1n, slot * MESSAGE_BYTES + PART_COUNT_AT);
    }
  }

  setLength(slot: number, length: number): void {
    this.#parts.writeUInt32LE(length, slot * PART_BYTES + 8);
  }
}

/** Sends from an interface of a network namespace, in order. */
export class Sender {
  readonly #fd: Fd;
  readonly #slots = new Slots();
  #waiting = 0;
  #sent = 0;

  /** `namespace` is a path. */
  constructor(namespace: string, index: number) {
    this.#fd = inNamespace(namespace, () => socket(AF_PACKET, SOCK_RAW));
    const at = Buffer.alloc(20); // struct sockaddr_ll
    at.writeUInt16LE(AF_PACKET, 0);
    at.writeInt32LE(index, 4);
    bind(this.#fd, at);
    force(this.#fd, SO_SNDBUFFORCE);
  }

  /** How many the kernel took. */
  get sent(): number {
    return this.#sent;
  }

  add(frame: Uint8Array): void {
    if (frame.length > SLOT_BYTES) return;
    if (this.#waiting === SLOTS) this.flush();
    this.#slots.data.set(frame, this.#waiting * SLOT_BYTES);
    this.#slots.setLength(this.#waiting++, frame.length);
  }

  /** What the kernel does not take is left out: it has no such frame (too long for the link, or without its header). */
  flush(): void {
    for (let at = 0; at < this.#waiting; ) {
      const count = raw.sendmmsg(
        this.#fd,
        this.#slots.messages.subarray(at * MESSAGE_BYTES),
        this.#waiting - at,
        0,
      );
      if (count < 0 && !['EMSGSIZE', 'EINVAL', 'EAGAIN', 'ENOBUFS'].includes(errnoName(koffi.errno())))
        throw new SystemError('sendmmsg', koffi.errno());
      this.#sent += Math.max(count, 0);
      at += Math.max(count, 1);
    }
    this.#waiting = 0;
  }

  close(): void {
    close(this.#fd);
  }
}

export type Hear = (data: Buffer) => void;

const heard = new Slots();

/** Calls back for all that a socket has, with memory that is used again afterwards. */
function drain(fd: Fd, hear: Hear): number {
  for (let all = 0; ; ) {
    const count = raw.recvmmsg(fd, heard.messages, SLOTS, 0, null);
    if (count < 0) {
      const error = errnoName(koffi.errno());
      if (error === 'EAGAIN') return all;
      throw new SystemError('recvmmsg', koffi.errno());
    }
    for (let slot = 0; slot < count; slot++) {
      const length = Math.min(heard.messages.readUInt32LE(slot * MESSAGE_BYTES + LENGTH_AT), SLOT_BYTES);
      hear(heard.data.subarray(slot * SLOT_BYTES, slot * SLOT_BYTES + length));
    }
    all += count;
    if (count < SLOTS) return all;
  }
}

/** Every frame that comes to a network namespace. */
export class Tap {
  readonly #fd: Fd;

  constructor(namespace: string) {
    this.#fd = inNamespace(namespace, () => socket(AF_PACKET, SOCK_RAW, ETH_P_ALL));
    raw.setsockopt(this.#fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, [1], 4);
    force(this.#fd, SO_RCVBUFFORCE);
  }

  drain(hear: Hear): number {
    return drain(this.#fd, hear);
  }

  close(): void {
    close(this.#fd);
  }
}

/** What the IP stack of a network namespace delivers behind its rules: a raw socket for each family and protocol. */
export class Ears {
  readonly #fds: readonly Fd[];
  readonly #polled: Buffer;

  constructor(namespace: string) {
    this.#fds = inNamespace(namespace, () =>
      [AF_INET, AF_INET6].flatMap(domain =>
        Array.from({ length: 256 }, (_, protocol) => raw256(domain, protocol)),
      ),
    ).filter(fd => fd !== undefined);
    this.#polled = Buffer.alloc(8 * this.#fds.length);
    this.#fds.forEach((fd, i) => {
      this.#polled.writeInt32LE(fd, 8 * i);
      this.#polled.writeInt16LE(POLLIN, 8 * i + 4);
    });
  }

  drain(hear: Hear): number {
    let left = raw.poll(this.#polled, this.#fds.length, 0);
    let all = 0;
    for (let i = 0; left > 0 && i < this.#fds.length; i++)
      if (this.#polled.readInt16LE(8 * i + 6) !== 0) {
        all += drain(this.#fds[i]!, hear);
        left--;
      }
    return all;
  }

  close(): void {
    for (const fd of this.#fds) close(fd);
  }
}

/** Undefined for a number that this kernel has no raw socket for. */
function raw256(domain: number, protocol: number): Fd | undefined {
  try {
    const fd = socket(domain, SOCK_RAW, protocol);
    force(fd, SO_RCVBUFFORCE);
    return fd;
  } catch (error) {
    if (error instanceof SystemError && error.code === 'EPROTONOSUPPORT') return undefined;
    throw error;
  }
}

function force(fd: Fd, option: number): void {
  raw.setsockopt(fd, SOL_SOCKET, option, [BUFFER_BYTES], 4);
}
