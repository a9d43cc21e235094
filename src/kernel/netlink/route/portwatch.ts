/** The kernel's word of ports of bridges and bonds that come or change, in a network namespace. */
import { Notifications } from '../wire/notifications.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { NETLINK_ROUTE, RTM, RTMGRP } from './constants.ts';
import { readLink } from './rtnetlink-read.ts';

/** The kernel takes twice as much: some hundred notices. What is beyond is lost. */
const BUFFER = 256 << 10;

export class PortWatch {
  readonly #socket = new NetlinkSocket(NETLINK_ROUTE);
  readonly #notices: Notifications<number>;
  #lost = 0;

  /** Of the namespace of the calling thread, for good. Throws SocketError. */
  constructor() {
    this.#notices = new Notifications(this.#socket, message => {
      if (message.type !== RTM.NEWLINK) return undefined;
      const { index, master } = readLink(message);
      return master === undefined ? undefined : index;
    });
    try {
      this.#socket.countLosses();
      this.#socket.join(RTMGRP.LINK, BUFFER);
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
