/** The calls of libc that sockets are made of, and their constants: the only native code of the agent's way to the kernel. */
import koffi from 'koffi';

/** The symbols of this process: glibc and musl alike. */
export const libc = koffi.load(null);

// Lengths come back as int, which holds every length here and is cheaper to convert than ssize_t.
export const socket = libc.func('int socket(int domain, int type, int protocol)');
export const setsockopt = libc.func(
  'int setsockopt(int fd, int level, int name, const int *value, uint32_t length)',
);
export const getsockopt = libc.func('int getsockopt(int fd, int level, int name, void *value, void *length)');
export const bind = libc.func('int bind(int fd, const void *address, uint32_t length)');
export const send = libc.func('int send(int fd, const void *bytes, size_t length, int flags)');
export const recv = libc.func('int recv(int fd, void *bytes, size_t length, int flags)');
export const close = libc.func('int close(int fd)');

/** The error number of the last call on this thread. */
export const errno = (): number => koffi.errno();

/** The address of a buffer, valid as long as the buffer is held: an address keeps nothing alive. */
export const pointerTo = (bytes: Buffer) => koffi.address(bytes);

// bits/socket.h and asm-generic/socket.h: the same numbers on x86-64 and arm64.
export const AF_INET = 2;
export const AF_INET6 = 10;
export const AF_NETLINK = 16;
/** SOCK_RAW | SOCK_CLOEXEC. */
export const RAW = 3 | 0o2000000;
export const SOL_SOCKET = 1;
export const SO_SNDBUF = 7;
export const SO_RCVBUF = 8;
/** Linux 4.12. */
export const SO_MEMINFO = 55;
export const SO_SNDBUFFORCE = 32;
export const SO_RCVBUFFORCE = 33;
export const MSG_DONTWAIT = 0x40;
export const EPERM = 1;
export const EINTR = 4;
export const EAGAIN = 11;
export const ENOBUFS = 105;
