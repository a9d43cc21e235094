import type { Address } from '../../../src/model/address.ts';
import { bind, type Fd, SystemError } from '../libc.ts';
import { socketAddress } from './sockaddr.ts';

const FIRST = 20_000;
const COUNT = 40_000;

let used = 0;

/**
 * Binds to a port that no earlier probe has used: with one that conntrack remembers, a new probe would pass as
 * part of an old connection.
 */
export function bindFreshPort(fd: Fd, address: Address): void {
  for (let tries = 0; ; tries++) {
    try {
      bind(fd, socketAddress(address, nextPort()));
      return;
    } catch (error) {
      const taken = error instanceof SystemError && error.code === 'EADDRINUSE'; // one of our listeners has the port
      if (!taken || tries === 100) throw error;
    }
  }
}

export function nextPort(): number {
  return FIRST + (used++ % COUNT);
}
