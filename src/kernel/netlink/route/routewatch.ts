/** Changes of links, addresses, routes and rules of a network namespace, as the kernel reports them. */
import { NetlinkSocket, NOTHING, Notifications } from '../wire/socket.ts';
import { NETLINK_ROUTE, RTM, RTMGRP } from './constants.ts';
import { readLink } from './rtnetlink-read.ts';

/** The kernel takes twice as much: some hundred notices. What is beyond is lost. */
const PORT_BUFFER = 256 << 10;

/** Ports of bridges and bonds that come or change. */
export class PortWatch {
  readonly #socket = new NetlinkSocket(NETLINK_ROUTE);
  readonly #notices: Notifications<number>;
  #lost = 0;

  /** Watches the network namespace of the calling thread, for good. Throws SocketError. */
  constructor() {
    this.#notices = new Notifications(this.#socket, message => {
      if (message.type !== RTM.NEWLINK) return undefined;
      const { index, master } = readLink(message);
      return master === undefined ? undefined : index;
    });
    try {
      this.#socket.countLosses();
      this.#socket.join(RTMGRP.LINK, PORT_BUFFER);
    } catch (error) {
      this.#socket.close();
      throw error;
    }
  }

  /** Whether a port has come or changed that is none of these, or may have, since it was asked last. Never waits. */
  hasOther(known: (index: number) => boolean): boolean {
    const before = this.#lost;
    let other = false;
    this.#notices.visit(
      () => true,
      index => {
        other ||= !known(index);
      },
    );
    this.#lost = this.#socket.lost + this.#notices.garbled;
    return other || this.#lost > before;
  }

  close(): void {
    this.#socket.close();
  }
}

const GROUPS = Object.values(RTMGRP).reduce((all, group) => all | group, 0);
/** One notice would be enough: what is beyond is lost, and is not missed. */
const CHANGE_BUFFER = 64 << 10;

/**
 * Whether links, addresses, routes or rules of a network namespace have changed since the last look. The kernel queues
 * a notification for us before it answers the process that made the change, so no completed change is missed; an
 * overrun counts as a notification. The kernel does not report IPv4 routes that disappear with a link or an address,
 * but it reports the link or address.
 */
export class ChangeWatch {
  readonly #socket = new NetlinkSocket(NETLINK_ROUTE);

  /** Watches the network namespace of the calling thread, for good. */
  constructor() {
    this.#socket.join(GROUPS, CHANGE_BUFFER);
  }

  /** Returns at once. Throws SocketError. */
  hasChanged(): boolean {
    let changed = false;
    while (this.#socket.receive() !== NOTHING) changed = true;
    return changed;
  }

  close(): void {
    this.#socket.close();
  }
}
