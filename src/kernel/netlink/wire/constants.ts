import { constants } from 'node:os'; /** Numbers of `linux/netlink.h`, and of errno, by their own names. */

export const NLMSG = { ERROR: 2, DONE: 3, BATCH_BEGIN: 0x10, BATCH_END: 0x11 } as const;

export const NLM_F = {
  REQUEST: 0x1,
  ACK: 0x4,
  ECHO: 0x8,
  /** Set in an answer to a dump if another process changed the dumped objects meanwhile. */
  DUMP_INTR: 0x10,
  DUMP: 0x300,
  REPLACE: 0x100,
  EXCL: 0x200,
  CREATE: 0x400,
  APPEND: 0x800,
  /** In an NLMSG_ERROR: only the header of the refused message is quoted; attributes follow. */
  CAPPED: 0x100,
  ACK_TLVS: 0x200,
} as const;

export const NLMSGERR_ATTR = { MSG: 1, OFFS: 2 } as const;

// Node knows the numbers that a system call answers; netlink answers some that no system call does.
const NAMES = new Map<number, string>([
  ...Object.entries(constants.errno).map(([name, number]): [number, string] => [number, name]),
  [11, 'EAGAIN'], // and not its other name EWOULDBLOCK
  [85, 'ERESTART'],
  [95, 'EOPNOTSUPP'],
]);

export function errnoName(errno: number): string {
  return NAMES.get(errno) ?? `errno ${errno}`;
}
