/** What the kernel tells a socket by itself: taken datagram by datagram without waiting, and each read up to what cannot be. */
import { type Message, readMessages } from './messages.ts';
import { type NetlinkSocket, NOTHING, OVERRUN } from './socket.ts';

export class Notifications<T> {
  readonly #socket: NetlinkSocket;
  readonly #read: (message: Message) => T | undefined;
  #garbled = 0;

  /** `read` answers undefined for what is no such notification, and throws RangeError or TypeError where it is malformed. */
  constructor(socket: NetlinkSocket, read: (message: Message) => T | undefined) {
    this.#socket = socket;
    this.#read = read;
  }

  /** Datagrams that could not be read. */
  get garbled(): number {
    return this.#garbled;
  }

  /** Visits what is there, for as long as `mayGoOn` after so many datagrams. */
  visit(mayGoOn: (count: number) => boolean, visit: (notification: T) => void): void {
    for (let count = 0; mayGoOn(count); count++) {
      const length = this.#socket.receive();
      if (length === NOTHING) return;
      if (length !== OVERRUN) for (const each of this.#readAll(length)) visit(each);
    }
  }

  #readAll(length: number): readonly T[] {
    const found: T[] = [];
    try {
      for (const message of readMessages(this.#socket.received, length)) {
        const notification = this.#read(message);
        if (notification !== undefined) found.push(notification);
      }
    } catch (error) {
      if (!(error instanceof RangeError) && !(error instanceof TypeError)) throw error;
      this.#garbled++;
    }
    return found;
  }
}
