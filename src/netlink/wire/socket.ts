/** A netlink socket. The only native code of the program: six functions of libc. */
import koffi from 'koffi';
import type { Memory } from './attributes.ts';
import { errnoName } from './errno.ts';

// Lengths come back as int, which holds every length here and is cheaper to convert than ssize_t.
const libc = koffi.load(null);
const socket = libc.func('int socket(int domain, int type, int protocol)');
const setsockopt = libc.func(
  'int setsockopt(int fd, int level, int name, const int *value, uint32_t length)',
);
const bind = libc.func('int bind(int fd, const void *address, uint32_t length)');
const send = libc.func('int send(int fd, const void *bytes, size_t length, int flags)');
const recv = libc.func('int recv(int fd, void *bytes, size_t length, int flags)');
const close = libc.func('int close(int fd)');

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_SNDBUF = 7;
const SO_RCVBUF = 8;
const SO_SNDBUFFORCE = 32;
const SO_RCVBUFFORCE = 33;
const SOL_NETLINK = 270;
const NETLINK_CAP_ACK = 10;
const NETLINK_EXT_ACK = 11;
const NETLINK_GET_STRICT_CHK = 12;
const MSG_DONTWAIT = 0x40;
const EAGAIN = 11;
const ENOBUFS = 105;

// A batch is one send, and must fit: a million elements are 16 MB. Memory is taken only while a batch is under way.
const SEND_BUFFER = 256 << 20;
// Errors take 832 bytes each; of ten thousand refused messages we want to hear.
const RECEIVE_BUFFER = 8 << 20;
// The kernel fills up to 32 KB, and a dump in smaller pieces takes many times as long.
const CHUNK = 64 << 10;

/** No datagram is there. */
export const NOTHING = 0;
/** Said once: datagrams were lost because the receive buffer was full. What did fit in follows. */
export const OVERRUN = -1;

export class SocketError extends Error {
  override readonly name = 'SocketError';
  readonly code: string;

  constructor(call: string, errno: number) {
    super(`${call}: ${errnoName(errno)}`);
    this.code = errnoName(errno);
  }
}

/** Belongs to the network namespace of the thread that makes it, and stays there. */
export class NetlinkSocket {
  readonly #fd: number;
  readonly received = Buffer.alloc(CHUNK);
  /** The same bytes. */
  readonly words = new Uint32Array(this.received.buffer, this.received.byteOffset, CHUNK / 4);
  // What koffi is given as an address costs it less than half of what a Buffer does, and every commit is two calls.
  readonly #receivedAt = koffi.address(this.received);

  /** `fd` is a netlink socket that somebody made in another namespace: it is ours from here on. */
  constructor(protocol: number, fd?: number) {
    this.#fd = fd ?? socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    if (this.#fd < 0) throw new SocketError('socket', koffi.errno());
    this.#raise(SO_SNDBUFFORCE, SO_SNDBUF, SEND_BUFFER);
    this.#raise(SO_RCVBUFFORCE, SO_RCVBUF, RECEIVE_BUFFER);
    // Answers say what was wrong with which attribute, and quote only the header of what they answer.
    this.#set(SOL_NETLINK, NETLINK_EXT_ACK, 1);
    this.#set(SOL_NETLINK, NETLINK_CAP_ACK, 1);
    // rtnetlink dumps what was asked for, and not all that there is.
    this.#set(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1);
  }

  /** Sends the first `length` bytes. Holds the event loop until the kernel has done all that they ask for. */
  send(memory: Memory, length: number): void {
    memory.address ??= koffi.address(memory.bytes);
    if (send(this.#fd, memory.address, length, 0) < 0) throw new SocketError('send', koffi.errno());
  }

  /** The same on another thread. `bytes` must not change before it is done. */
  sendAsync(bytes: Buffer, length: number): Promise<void> {
    return new Promise((resolve, reject) => {
      send.async(this.#fd, bytes, length, 0, (error: unknown, sent: number) => {
        if (error) reject(error);
        // errno is that of the other thread here, and only here.
        else if (sent < 0) reject(new SocketError('send', koffi.errno()));
        else resolve();
      });
    });
  }

  /** Takes one datagram into `received`; answers its length, NOTHING or OVERRUN. Never waits. */
  receive(): number {
    const length = recv(this.#fd, this.#receivedAt, CHUNK, MSG_DONTWAIT);
    if (length >= 0) return length;
    const errno = koffi.errno();
    if (errno === EAGAIN) return NOTHING;
    if (errno === ENOBUFS) return OVERRUN;
    throw new SocketError('recv', errno);
  }

  /** The same on another thread, for what the kernel makes only when it is asked for. Nothing else may receive. */
  receiveAsync(): Promise<number> {
    return new Promise((resolve, reject) => {
      recv.async(this.#fd, this.received, CHUNK, MSG_DONTWAIT, (error: unknown, length: number) => {
        if (error) return reject(error);
        const errno = length < 0 ? koffi.errno() : 0;
        if (length >= 0) resolve(length);
        else if (errno === EAGAIN) resolve(NOTHING);
        else if (errno === ENOBUFS) resolve(OVERRUN);
        else reject(new SocketError('recv', errno));
      });
    });
  }

  /**
   * From now on also takes what the kernel sends to these groups, a bit each. Beyond `bufferBytes` of it that nobody
   * has received, all further is lost, and OVERRUN said. Throws SocketError.
   */
  join(groups: number, bufferBytes: number): void {
    this.#raise(SO_RCVBUFFORCE, SO_RCVBUF, bufferBytes);
    // struct sockaddr_nl: family, padding; port, which the kernel chooses; groups.
    const address = Buffer.from(new Uint32Array([AF_NETLINK, 0, groups]).buffer);
    if (bind(this.#fd, address, address.length) < 0) throw new SocketError('bind', koffi.errno());
  }

  close(): void {
    close(this.#fd);
  }

  /** Beyond the limits of the machine with CAP_NET_ADMIN, else up to them. */
  #raise(force: number, plain: number, size: number): void {
    if (!this.#set(SOL_SOCKET, force, size)) this.#set(SOL_SOCKET, plain, size);
  }

  #set(level: number, name: number, value: number): boolean {
    return setsockopt(this.#fd, level, name, [value], 4) === 0;
  }
}
