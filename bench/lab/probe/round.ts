/** One round of probes: its sockets in their namespaces, and the loop that waits for all of them at once. */
import type { Address } from '../../../src/model/address.ts';
import { familyOf } from '../../../src/model/address.ts';
import { AF_INET, AF_INET6, close, type Fd, type POLLIN, type POLLOUT, poll, socket } from '../libc.ts';
import { inNamespace } from '../netns.ts';

type Events = typeof POLLIN | typeof POLLOUT;

interface Watch {
  readonly events: Events;
  readonly ready: () => void;
}

export class Round {
  readonly #namespaceOf: (address: Address) => string;
  readonly #open = new Set<Fd>();
  readonly #watched = new Map<Fd, Watch>();
  /** How many answers are still missing. */
  outstanding = 0;

  constructor(namespaceOf: (address: Address) => string) {
    this.#namespaceOf = namespaceOf;
  }

  /** A socket of the host that has `address`, made ready by `prepare`; closed with the round. */
  socket(address: Address, type: number, protocol: number, prepare: (fd: Fd) => void): Fd {
    const domain = familyOf(address) === 'ip' ? AF_INET : AF_INET6;
    const fd = inNamespace(this.#namespaceOf(address), () => socket(domain, type, protocol));
    this.#open.add(fd);
    prepare(fd);
    return fd;
  }

  watch(fd: Fd, events: Events, ready: () => void): void {
    this.#watched.set(fd, { events, ready });
  }

  unwatch(fd: Fd): void {
    this.#watched.delete(fd);
  }

  /** Waits until no answer is missing, or nothing has happened for `quietMs`. */
  async settle(quietMs: number): Promise<void> {
    while (this.outstanding > 0) {
      const fds = pollfds(this.#watched);
      if ((await poll(fds, quietMs)) === 0) return;
      for (const fd of readyFds(fds)) this.#watched.get(fd)?.ready();
    }
  }

  close(): void {
    for (const fd of this.#open) close(fd);
    this.#open.clear();
    this.#watched.clear();
  }
}

// struct pollfd { int fd; short events; short revents; }, host-endian.
const POLLFD = 8;

function pollfds(watched: ReadonlyMap<Fd, Watch>): Uint8Array {
  const bytes = new Uint8Array(watched.size * POLLFD);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [fd, { events }] of watched) {
    view.setInt32(at, fd, true);
    view.setInt16(at + 4, events, true);
    at += POLLFD;
  }
  return bytes;
}

function readyFds(bytes: Uint8Array): Fd[] {
  const view = new DataView(bytes.buffer);
  const ready: Fd[] = [];
  for (let at = 0; at < bytes.length; at += POLLFD)
    if (view.getInt16(at + 6, true) !== 0) ready.push(view.getInt32(at, true));
  return ready;
}
