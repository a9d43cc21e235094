/** The kernel's word of each new connection in a network namespace, for as long as the socket is open. */
import { NETLINK_NETFILTER } from '../nftables/constants.ts';
import { readMessages } from '../wire/messages.ts';
import { NetlinkSocket, NOTHING, OVERRUN } from '../wire/socket.ts';
import { type NewConnection, readNewConnection } from './newconnection.ts';

/** NFNLGRP_CONNTRACK_NEW, the first group. */
const NEW = 1;
/** The kernel takes twice as much: some eight thousand connections that nobody has read. Beyond them they are lost. */
const BUFFER = 4 << 20;

export class NewConnections {
  readonly #socket: NetlinkSocket;
  #garbled = 0;

  private constructor(socket: NetlinkSocket) {
    this.#socket = socket;
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

  /** Connections that the kernel had no room for, or that could not be read. */
  get lost(): number {
    return this.#socket.lost + this.#garbled;
  }

  /** Visits what is there, for as long as `mayGoOn` after so many. Never waits. */
  read(mayGoOn: (count: number) => boolean, visit: (connection: NewConnection) => void): void {
    for (let count = 0; mayGoOn(count); count++) {
      const length = this.#socket.receive();
      if (length === NOTHING) return;
      if (length !== OVERRUN) this.#take(length, visit);
    }
  }

  close(): void {
    this.#socket.close();
  }

  #take(length: number, visit: (connection: NewConnection) => void): void {
    for (const connection of this.#connectionsOf(length)) visit(connection);
  }

  /** The kernel sends one in each datagram. */
  #connectionsOf(length: number): NewConnection[] {
    const found: NewConnection[] = [];
    try {
      for (const message of readMessages(this.#socket.received, length)) {
        const connection = readNewConnection(message);
        if (connection !== undefined) found.push(connection);
      }
    } catch (error) {
      if (!(error instanceof RangeError) && !(error instanceof TypeError)) throw error;
      this.#garbled++;
    }
    return found;
  }
}
