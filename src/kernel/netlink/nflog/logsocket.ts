/** A group of nfnetlink_log, read without waiting: the packets that rules of this network namespace hand over. */
import { NETLINK_NETFILTER } from '../nftables/constants.ts';
import { errnoName } from '../wire/constants.ts';
import { Conversation } from '../wire/conversation.ts';
import { readReply } from '../wire/messages.ts';
import { NetlinkSocket, Notifications } from '../wire/socket.ts';
import { bindMessages, type LogGroup, type LoggedPacket, readLogged } from './messages.ts';

/** Holds some hundreds of unread packets. Beyond that, packets are lost. */
const BUFFER = 1 << 20;

class LogGroupTaken extends Error {
  override readonly name = 'LogGroupTaken';
}

export interface LogCounts {
  /** Packets that were read. */
  readonly read: number;
  /** Packets for which there was no room, by their numbers. */
  readonly lost: number;
  /** Datagrams that could not be read. */
  readonly garbled: number;
}

export class LogSocket {
  /** Whether the kernel also reports the dialled destination of translated packets. */
  readonly tellsDialled: boolean;
  readonly #socket: NetlinkSocket;
  readonly #notifications: Notifications<LoggedPacket>;
  #read = 0;
  #lost = 0;
  #next: number | undefined;

  private constructor(socket: NetlinkSocket, tellsDialled: boolean) {
    this.#socket = socket;
    this.#notifications = new Notifications(socket, readLogged);
    this.tellsDialled = tellsDialled;
  }

  /**
   * In the network namespace of the calling thread. Throws LogGroupTaken where another process is handed the packets of
   * the group, and Error where there is no nfnetlink_log.
   */
  static open(group: LogGroup): LogSocket {
    const socket = new NetlinkSocket(NETLINK_NETFILTER);
    try {
      socket.join(0, BUFFER);
      return new LogSocket(socket, bind(socket, group));
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  get counts(): LogCounts {
    return { read: this.#read, lost: this.#lost, garbled: this.#notifications.garbled };
  }

  /** Visits the waiting packets, up to `most` datagrams; `visit` must not keep the bytes of a packet. */
  read(most: number, visit: (packet: LoggedPacket) => void): void {
    this.#notifications.visit(
      count => count < most,
      packet => {
        this.#count(packet.number);
        visit(packet);
      },
    );
  }

  close(): void {
    this.#socket.close();
  }

  #count(number: number | undefined): void {
    this.#read++;
    if (number === undefined) return;
    if (this.#next !== undefined) this.#lost += (number - this.#next) >>> 0;
    this.#next = (number + 1) >>> 0;
  }
}

/**
 * Sends the requests one by one, because the kernel acknowledges each. The last one is optional; returns whether it was
 * granted.
 */
function bind(socket: NetlinkSocket, group: LogGroup): boolean {
  const conversation = new Conversation(socket);
  const writes = bindMessages(group);
  let isGranted = false;
  writes.forEach((write, index) => {
    let errno = 0;
    conversation.askSync([write], message => {
      errno = readReply(message)?.errno ?? errno;
    });
    if (errno !== 0 && index < writes.length - 1) throw refusal(group.group, errnoName(errno));
    isGranted = errno === 0;
  });
  return isGranted;
}

function refusal(group: number, code: string): Error {
  if (code === 'EPERM' || code === 'EBUSY')
    return new LogGroupTaken(`another process is handed the packets of log group ${group}`);
  return new Error(`log group ${group}: ${code}`);
}
