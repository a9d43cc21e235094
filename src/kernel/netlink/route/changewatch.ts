/**
 * Whether anything has changed of the links, addresses, routes and rules of a network namespace since the last look. The
 * kernel queues a notice for us before it answers whoever made the change, so nothing that was answered is missed; an
 * overrun says the same as a notice. It sends none of the IPv4 routes that go with a link or an address, but of those.
 */
import { NetlinkSocket, NOTHING } from '../wire/socket.ts';
import { NETLINK_ROUTE, RTMGRP } from './constants.ts';

const GROUPS = Object.values(RTMGRP).reduce((all, group) => all | group, 0);
/** One notice would be enough: what is beyond is lost, and is not missed. */
const BUFFER = 64 << 10;

export class ChangeWatch {
  readonly #socket = new NetlinkSocket(NETLINK_ROUTE);

  /** Of the namespace of the calling thread, for good. */
  constructor() {
    this.#socket.join(GROUPS, BUFFER);
  }

  /** Never waits. Throws SocketError. */
  hasChanged(): boolean {
    let changed = false;
    while (this.#socket.receive() !== NOTHING) changed = true;
    return changed;
  }

  close(): void {
    this.#socket.close();
  }
}
