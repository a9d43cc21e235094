/** The calls of libc that the answer thread makes. Addresses that koffi was given keep nothing alive: hold the buffers. */
import koffi from 'koffi';
import { errnoName } from '../netlink/wire/errno.ts';

const libc = koffi.load(null);
export const socket = libc.func('int socket(int domain, int type, int protocol)');
export const setsockopt = libc.func(
  'int setsockopt(int fd, int level, int name, const int *value, uint32_t length)',
);
export const send = libc.func('int send(int fd, const void *bytes, size_t length, int flags)');
export const sendto = libc.func(
  'int sendto(int fd, const void *bytes, size_t length, int flags, const void *to, uint32_t toLength)',
);
export const recv = libc.func('int recv(int fd, void *bytes, size_t length, int flags)');
export const poll = libc.func('int poll(void *fds, unsigned long count, int timeoutMs)');
export const eventfd = libc.func('int eventfd(unsigned int count, int flags)');
export const close = libc.func('int close(int fd)');

export const AF_INET = 2;
export const AF_INET6 = 10;
export const AF_NETLINK = 16;
/** SOCK_RAW | SOCK_CLOEXEC. */
export const RAW = 3 | 0o2000000;
export const SOL_SOCKET = 1;
export const MSG_DONTWAIT = 0x40;
export const EPERM = 1;
export const EINTR = 4;
export const EAGAIN = 11;
export const ENOBUFS = 105;

export const errno = (): number => koffi.errno();

/** Throws an Error that names the call and the errno. */
export function check(call: string, result: number): number {
  if (result < 0) throw new Error(`${call}: ${errnoName(errno())}`);
  return result;
}

/** A buffer and where it is, for as long as both are held. */
export interface Fixed {
  readonly bytes: Buffer;
  readonly at: unknown;
}

export function fixed(size: number): Fixed {
  const bytes = Buffer.alloc(size);
  return { bytes, at: koffi.address(bytes) };
}
