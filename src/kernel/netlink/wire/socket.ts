/** A netlink socket. */
import type { Memory } from './attributes.ts';
import { errnoName } from './constants.ts';
import {
  AF_NETLINK,
  bind,
  close,
  EAGAIN,
  ENOBUFS,
  errno,
  getsockopt,
  MSG_DONTWAIT,
  pointerTo,
  RAW,
  recv,
  SO_MEMINFO,
  SO_RCVBUF,
  SO_RCVBUFFORCE,
  SO_SNDBUF,
  SO_SNDBUFFORCE,
  SOL_SOCKET,
  send,
  setsockopt,
  socket,
} from './libc.ts';
import { type Message, readMessages } from './messages.ts';

const SOL_NETLINK = 270;
const NETLINK_CAP_ACK = 10;
const NETLINK_NO_ENOBUFS = 5;
const NETLINK_EXT_ACK = 11;
const NETLINK_GET_STRICT_CHK = 12;

// A batch is one send, and must fit: a million elements are 16 MB. Memory is taken only while a batch is under way.
const SEND_BUFFER = 256 << 20;
// Each error takes 832 bytes; the buffer has room for those of ten thousand refused messages.
const RECEIVE_BUFFER = 8 << 20;
// The kernel fills up to 32 KB, and a dump in smaller pieces takes many times as long.
const CHUNK = 64 << 10;

/** SK_MEMINFO_DROPS, the last of nine numbers (`linux/sock_diag.h`). */
const MEMINFO = { SIZE: 36, DROPS: 32 } as const;

/** No datagram is there. */
export const NOTHING = 0;
/** Answered once: datagrams were lost because the receive buffer was full. What did fit in follows. */
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
  /** The receive buffer as 32-bit words. */
  readonly words = new Uint32Array(this.received.buffer, this.received.byteOffset, CHUNK / 4);
  // Passing an address to koffi costs less than half of passing a Buffer, and every commit is two calls.
  readonly #receivedAt = pointerTo(this.received);

  /** `fd` is a netlink socket that another process made in its namespace; from here on this object owns it. */
  constructor(protocol: number, fd?: number) {
    this.#fd = fd ?? socket(AF_NETLINK, RAW, protocol);
    if (this.#fd < 0) throw new SocketError('socket', errno());
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
    memory.address ??= pointerTo(memory.bytes);
    if (send(this.#fd, memory.address, length, 0) < 0) throw new SocketError('send', errno());
  }

  /** Sends on another thread. `bytes` must not change until the promise resolves. */
  sendAsync(bytes: Buffer, length: number): Promise<void> {
    return new Promise((resolve, reject) => {
      send.async(this.#fd, bytes, length, 0, (error: unknown, sent: number) => {
        if (error) reject(error);
        // errno is that of the other thread here, and only here.
        else if (sent < 0) reject(new SocketError('send', errno()));
        else resolve();
      });
    });
  }

  /** Takes one datagram into `received`; answers its length, NOTHING or OVERRUN. Never waits. */
  receive(): number {
    const length = recv(this.#fd, this.#receivedAt, CHUNK, MSG_DONTWAIT);
    if (length >= 0) return length;
    const code = errno();
    if (code === EAGAIN) return NOTHING;
    if (code === ENOBUFS) return OVERRUN;
    throw new SocketError('recv', code);
  }

  /** The same on another thread, for what the kernel makes only when it is asked for. Nothing else may receive. */
  receiveAsync(): Promise<number> {
    return new Promise((resolve, reject) => {
      recv.async(this.#fd, this.received, CHUNK, MSG_DONTWAIT, (error: unknown, length: number) => {
        if (error) return reject(error);
        const code = length < 0 ? errno() : 0;
        if (length >= 0) resolve(length);
        else if (code === EAGAIN) resolve(NOTHING);
        else if (code === ENOBUFS) resolve(OVERRUN);
        else reject(new SocketError('recv', code));
      });
    });
  }

  /**
   * From now on also receives messages that the kernel sends to these groups, one bit for each group. If more than
   * `bufferBytes` of them are unread, further ones are lost, and OVERRUN is reported. Throws SocketError.
   */
  join(groups: number, bufferBytes: number): void {
    this.#raise(SO_RCVBUFFORCE, SO_RCVBUF, bufferBytes);
    // struct sockaddr_nl: family, padding; port, which the kernel chooses; groups.
    const address = Buffer.from(new Uint32Array([AF_NETLINK, 0, groups]).buffer);
    if (bind(this.#fd, address, address.length) < 0) throw new SocketError('bind', errno());
  }

  /** From now on there is no OVERRUN: what is lost is counted alone, and what comes when there is room again is not. */
  countLosses(): void {
    this.#set(SOL_NETLINK, NETLINK_NO_ENOBUFS, 1);
  }

  /** Datagrams of groups that there was no room for, since the socket was made. */
  get lost(): number {
    const [numbers, length] = [
      Buffer.alloc(MEMINFO.SIZE),
      Buffer.from(new Uint32Array([MEMINFO.SIZE]).buffer),
    ];
    const code = getsockopt(this.#fd, SOL_SOCKET, SO_MEMINFO, pointerTo(numbers), pointerTo(length));
    if (code !== 0) throw new SocketError('getsockopt', errno());
    return numbers.readUInt32LE(MEMINFO.DROPS);
  }

  close(): void {
    close(this.#fd);
  }

  /** Sets a buffer size: with CAP_NET_ADMIN beyond the limits of the machine, else up to them. */
  #raise(force: number, plain: number, size: number): void {
    if (!this.#set(SOL_SOCKET, force, size)) this.#set(SOL_SOCKET, plain, size);
  }

  #set(level: number, name: number, value: number): boolean {
    return setsockopt(this.#fd, level, name, [value], 4) === 0;
  }
}

/**
 * Messages that the kernel sends to a socket on its own: received datagram by datagram without waiting, and parsed up
 * to the first one that cannot be read.
 */
export class Notifications<T> {
  readonly #socket: NetlinkSocket;
  readonly #read: (message: Message) => T | undefined;
  #garbled = 0;

  /** `read` answers undefined for what is no such notification, and throws RangeError or TypeError where it is malformed. */
  constructor(socket: NetlinkSocket, read: (message: Message) => T | undefined) {
    this.#socket = socket;
    this.#read = read;
  }

  /** Datagrams that could not be read. */
  get garbled(): number {
    return this.#garbled;
  }

  /** Visits what is there, for as long as `mayGoOn` after so many datagrams. */
  visit(mayGoOn: (count: number) => boolean, visit: (notification: T) => void): void {
    for (let count = 0; mayGoOn(count); count++) {
      const length = this.#socket.receive();
      if (length === NOTHING) return;
      if (length !== OVERRUN) for (const each of this.#readAll(length)) visit(each);
    }
  }

  #readAll(length: number): readonly T[] {
    const found: T[] = [];
    try {
      for (const message of readMessages(this.#socket.received, length)) {
        const notification = this.#read(message);
        if (notification !== undefined) found.push(notification);
      }
    } catch (error) {
      if (!(error instanceof RangeError) && !(error instanceof TypeError)) throw error;
      this.#garbled++;
    }
    return found;
  }
}
