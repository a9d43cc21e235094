/** The C library's socket calls, and `setns`. Every failure is an Error with the errno's name as its code. */
import koffi from 'koffi';
import { errnoName } from '../../src/kernel/netlink/wire/constants.ts';
import { libc } from '../../src/kernel/netlink/wire/libc.ts';
import { macText } from '../../src/model/mac.ts';

export { AF_INET, AF_INET6, AF_NETLINK } from '../../src/kernel/netlink/wire/libc.ts';

const raw = {
  setns: libc.func('int setns(int fd, int nstype)'),
  socket: libc.func('int socket(int domain, int type, int protocol)'),
  bind: libc.func('int bind(int fd, const uint8_t *address, uint32_t length)'),
  connect: libc.func('int connect(int fd, const uint8_t *address, uint32_t length)'),
  listen: libc.func('int listen(int fd, int backlog)'),
  close: libc.func('int close(int fd)'),
  setsockopt: libc.func('int setsockopt(int fd, int level, int name, const uint8_t *value, uint32_t length)'),
  getsockopt: libc.func(
    'int getsockopt(int fd, int level, int name, _Inout_ uint8_t *value, _Inout_ uint32_t *length)',
  ),
  sendto: libc.func(
    'intptr_t sendto(int fd, const uint8_t *data, size_t length, int flags, const uint8_t *address, uint32_t addressLength)',
  ),
  recvfrom: libc.func(
    'intptr_t recvfrom(int fd, _Inout_ uint8_t *data, size_t length, int flags, _Inout_ uint8_t *address, _Inout_ uint32_t *addressLength)',
  ),
  ioctl: libc.func('int ioctl(int fd, unsigned long request, _Inout_ uint8_t *argument)'),
  poll: libc.func('int poll(_Inout_ uint8_t *fds, unsigned long count, int timeoutMs)'),
};

// linux/socket.h, asm-generic/socket.h, linux/sched.h: the same numbers on x86-64 and arm64.
export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_RAW = 3;
const SOCK_NONBLOCK = 0x800;
const SOCK_CLOEXEC = 0x80000;
const SOL_SOCKET = 1;
const SO_ERROR = 4;
const SO_LINGER = 13;
const SO_BINDTODEVICE = 25;
const SOL_PACKET = 263;
const PACKET_VNET_HDR = 15;
const SIOCGIFFLAGS = 0x8913;
const SIOCGIFHWADDR = 0x8927;
const SIOCGIFINDEX = 0x8933;
const IFF_RUNNING = 0x40;
const CLONE_NEWNET = 0x40000000;
export const POLLIN = 1;
export const POLLOUT = 4;

export type Fd = number;

export class SystemError extends Error {
  override readonly name = 'SystemError';
  readonly code: string;

  constructor(call: string, errno: number) {
    const code = errnoName(errno);
    super(`${call}: ${code}`);
    this.code = code;
  }
}

/** Moves this thread, and no other, into the network namespace that `fd` is open on. */
export function enterNetworkNamespace(fd: Fd): void {
  check('setns', raw.setns(fd, CLONE_NEWNET));
}

/** A non-blocking socket in this thread's network namespace, where it stays. */
export function socket(domain: number, type: number, protocol = 0): Fd {
  return check('socket', raw.socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
}

export function bind(fd: Fd, address: Uint8Array): void {
  check('bind', raw.bind(fd, address, address.length));
}

/** Starts to connect; the outcome is `socketError` once the socket is writable. */
export function connect(fd: Fd, address: Uint8Array): void {
  if (raw.connect(fd, address, address.length) === 0) return;
  const error = lastError('connect');
  if (error.code !== 'EINPROGRESS') throw error;
}

export function listen(fd: Fd, backlog: number): void {
  check('listen', raw.listen(fd, backlog));
}

export function close(fd: Fd): void {
  check('close', raw.close(fd));
}

/** The pending error of a socket as an errno's name, or undefined. */
export function socketError(fd: Fd): string | undefined {
  const value = new Uint32Array(1);
  check('getsockopt', raw.getsockopt(fd, SOL_SOCKET, SO_ERROR, new Uint8Array(value.buffer), [4]));
  return value[0] === 0 ? undefined : errnoName(value[0]!);
}

/** Makes close() send a reset: no TIME_WAIT, and nothing left to retransmit. */
export function resetOnClose(fd: Fd): void {
  const linger = new Uint8Array(new Int32Array([1, 0]).buffer);
  check('setsockopt', raw.setsockopt(fd, SOL_SOCKET, SO_LINGER, linger, linger.length));
}

/** Binds a socket to one network interface. */
export function bindToDevice(fd: Fd, device: string): void {
  const name = Buffer.from(`${device}\0`);
  check('setsockopt', raw.setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, name.length));
}

/** Has a packet socket read a struct virtio_net_hdr in front of each frame: into which pieces a card would cut it. */
export function takeOffloads(fd: Fd): void {
  const on = new Uint8Array(new Int32Array([1]).buffer);
  check('setsockopt', raw.setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, on, on.length));
}

/** Whether an interface of the socket's namespace carries packets. */
export function isRunning(fd: Fd, device: string): boolean {
  return (asked(fd, device, SIOCGIFFLAGS).readUInt16LE() & IFF_RUNNING) !== 0;
}

/** The number of an interface of the socket's namespace. */
export function interfaceIndex(fd: Fd, device: string): number {
  return asked(fd, device, SIOCGIFINDEX).readInt32LE();
}

/** The hardware address of an interface of the socket's namespace, as text. */
export function hardwareAddress(fd: Fd, device: string): string {
  return macText(asked(fd, device, SIOCGIFHWADDR), 2); // Behind the sa_family of a struct sockaddr.
}

/** What stands behind the 16 bytes of the name in a struct ifreq. */
function asked(fd: Fd, device: string, request: number): Buffer {
  const ifreq = Buffer.alloc(40);
  ifreq.write(device);
  check('ioctl', raw.ioctl(fd, request, ifreq));
  return ifreq.subarray(16);
}

/** Sends one datagram, to where the socket is connected or to `address`. */
export function send(fd: Fd, data: Uint8Array, address: Uint8Array | null = null): void {
  check('sendto', Number(raw.sendto(fd, data, data.length, 0, address, address?.length ?? 0)));
}

export interface Datagram {
  readonly data: Buffer;
  /** The sender as a socket address, to answer to. */
  readonly from: Uint8Array;
}

/** The next datagram that has arrived, or undefined. */
export function receive(fd: Fd): Datagram | undefined {
  const data = Buffer.alloc(2048);
  const from = new Uint8Array(28);
  const length = [from.length];
  const size = Number(raw.recvfrom(fd, data, data.length, 0, from, length));
  if (size >= 0) return { data: data.subarray(0, size), from: from.subarray(0, length[0]) };
  const error = lastError('recvfrom');
  if (error.code === 'EAGAIN') return undefined;
  throw error;
}

/** Waits in the thread pool, not on this thread. Answers how many of the `struct pollfd` have events. */
export function poll(fds: Uint8Array, timeoutMs: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  raw.poll.async(fds, fds.length / 8, timeoutMs, (failure: Error | null, count: number) => {
    if (failure) return reject(failure);
    const interrupted = count < 0 && lastError('poll').code === 'EINTR'; // errno holds in this callback alone.
    if (count >= 0 || interrupted) resolve(Math.max(count, 0));
    else reject(lastError('poll'));
  });
  return promise;
}

function check(call: string, result: number): number {
  if (result < 0) throw lastError(call);
  return result;
}

function lastError(call: string): SystemError {
  return new SystemError(call, koffi.errno());
}
