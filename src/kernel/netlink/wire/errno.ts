/** errno of Linux: number <-> name. */
import { constants } from 'node:os';

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
