/** The kernel's word of each new connection in a network namespace, for as long as the socket is open. */
import { NETLINK_NETFILTER } from '../nftables/constants.ts';
import { Notifications } from '../wire/notifications.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import { type NewConnection, readNewConnection } from './newconnection.ts';

/** NFNLGRP_CONNTRACK_NEW, the first group. */
const NEW = 1;
/** The kernel takes twice as much: some eight thousand connections that nobody has read. Beyond them they are lost. */
const BUFFER = 4 << 20;

export class NewConnections {
  readonly #socket: NetlinkSocket;
  readonly #notifications: Notifications<NewConnection>;

  private constructor(socket: NetlinkSocket) {
    this.#socket = socket;
    this.#notifications = new Notifications(socket, readNewConnection);
  }

  /** In the network namespace of the calling thread. Throws SocketError. */
  static open(bufferBytes = BUFFER): NewConnections {
    const socket = new NetlinkSocket(NETLINK_NETFILTER);
    try {
      socket.countLosses();
      socket.join(NEW, bufferBytes);
      return new NewConnections(socket);
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  /** Connections that the kernel had no room for, or that could not be read: it sends one in each datagram. */
  get lost(): number {
    return this.#socket.lost + this.#notifications.garbled;
  }

  /** Visits what is there, for as long as `mayGoOn` after so many. Never waits. */
  read(mayGoOn: (count: number) => boolean, visit: (connection: NewConnection) => void): void {
    this.#notifications.visit(mayGoOn, visit);
  }

  close(): void {
    this.#socket.close();
  }
}
