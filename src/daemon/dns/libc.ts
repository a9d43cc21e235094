/** The functions of libc that the answer thread calls, apart from those for sockets. */
import { errnoName } from '../../kernel/netlink/wire/constants.ts';
import { errno, libc, pointerTo } from '../../kernel/netlink/wire/libc.ts';

export const sendto = libc.func(
  'int sendto(int fd, const void *bytes, size_t length, int flags, const void *to, uint32_t toLength)',
);
export const recvmmsg = libc.func(
  'int recvmmsg(int fd, void *messages, uint32_t count, int flags, void *timeout)',
);
export const poll = libc.func('int poll(void *fds, unsigned long count, int timeoutMs)');
export const eventfd = libc.func('int eventfd(unsigned int count, int flags)');

/** Throws an Error that names the call and the errno. */
export function check(call: string, result: number): number {
  if (result < 0) throw new Error(`${call}: ${errnoName(errno())}`);
  return result;
}

/** A buffer and where it is, for as long as both are held. */
export interface Fixed {
  readonly bytes: Buffer;
  readonly at: bigint;
}

export function fixed(size: number): Fixed {
  const bytes = Buffer.alloc(size);
  return { bytes, at: pointerTo(bytes) };
}
