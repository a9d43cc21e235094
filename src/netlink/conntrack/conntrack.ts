/** The connection tracking of one network namespace, over raw netlink and a socket of its own. */
import { type Address, familyOf } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import type { Connection, Conntrack } from '../../nft/conntrack.ts';
import { type MissingFeature, NO_CONNECTION_FILTER } from '../../nft/missingfeature.ts';
import { NETLINK_NETFILTER, NLMSG } from '../nftables/constants.ts';
import { AttributeWriter } from '../wire/attributes.ts';
import { errnoName } from '../wire/errno.ts';
import { type Message, readMessages } from '../wire/messages.ts';
import { readReply } from '../wire/replies.ts';
import { NetlinkSocket, NOTHING, SocketError } from '../wire/socket.ts';
import {
  type Choice,
  CT_MSG,
  readConnection,
  writeDump,
  writeHandleMessage,
  writeSenselessDump,
} from './ctnetlink.ts';

type Wanted = (flow: Flow) => boolean;
type Visit = (connection: Connection) => void;

// A filtered dump still walks the whole table, once for each end of each address: beyond this, all is read at once.
const MOST_FILTERED = 4;
// What one send asks for; the answers to it fit the receive buffer also if all of it is refused.
const DELETED_AT_ONCE = 1000;

export interface ConntrackOptions {
  /** Do without these, like a kernel that lacks them. */
  readonly without?: readonly MissingFeature[];
}

/** Opens the table of the network namespace that the calling thread is in; it stays with that one. */
export function openConntrack({ without = [] }: ConntrackOptions = {}): Conntrack {
  return new KernelConntrack(new NetlinkSocket(NETLINK_NETFILTER), without);
}

class KernelConntrack implements Conntrack {
  readonly #socket: NetlinkSocket;
  readonly #writer = new AttributeWriter();
  #sequence = 0;
  readonly missingFeatures: readonly MissingFeature[];
  /** Ends with what was last asked for: one question at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(socket: NetlinkSocket, without: readonly MissingFeature[]) {
    this.#socket = socket;
    this.missingFeatures = this.#filters() ? without : [...new Set([NO_CONNECTION_FILTER, ...without])];
  }

  read(about: readonly Address[] | 'all', wanted: Wanted, visit: Visit): Promise<void> {
    return this.#inTurn(() => this.#read(about, wanted, visit));
  }

  has({ handle }: Connection): Promise<boolean> {
    return this.#inTurn(async () => {
      const errors = await this.#ask(CT_MSG.GET, [handle]);
      return errors.length === 0;
    });
  }

  delete(connections: readonly Connection[]): Promise<number> {
    return this.#inTurn(async () => {
      let deleted = 0;
      for (let first = 0; first < connections.length; first += DELETED_AT_ONCE) {
        const handles = connections.slice(first, first + DELETED_AT_ONCE).map(({ handle }) => handle);
        const errors = await this.#ask(CT_MSG.DELETE, handles);
        const refused = errors.find(code => code !== 'ENOENT');
        if (refused !== undefined) throw new Error(`${refused}: connections could not be deleted`);
        deleted += handles.length - errors.length;
      }
      return deleted;
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    void this.#turn.then(() => this.#socket.close());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new Error('EBADF: connection tracking was closed'));
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #read(about: readonly Address[] | 'all', wanted: Wanted, visit: Visit): Promise<void> {
    if (about === 'all') return this.#dump('all', wanted, visit);
    const ends = new Set(about);
    const asked: Wanted = flow => (ends.has(flow.from) || ends.has(flow.to)) && wanted(flow);
    for (const choice of this.#choicesFor(about)) await this.#dump(choice, asked, visit);
  }

  /** The dumps that together hold what is asked for; the kernel chooses by IPv4 addresses only, if at all. */
  #choicesFor(about: readonly Address[]): Choice[] {
    const ofIpv4 = about.filter(address => familyOf(address) === 'ip');
    const family: Choice[] = ofIpv4.length < about.length ? ['ip6'] : [];
    if (ofIpv4.length === 0) return family;
    if (ofIpv4.length > MOST_FILTERED || this.#mustReadAll()) return family.length > 0 ? ['all'] : ['ip'];
    const roles = ['opens', 'answers'] as const;
    return [...ofIpv4.flatMap(address => roles.map((role): Choice => ({ address, role }))), ...family];
  }

  #mustReadAll(): boolean {
    return this.missingFeatures.includes(NO_CONNECTION_FILTER);
  }

  /** Whether the kernel chooses what to dump: then it refuses a choice that makes no sense. */
  #filters(): boolean {
    const sequence = this.#nextSequence();
    this.#writer.clear();
    writeSenselessDump(this.#writer, sequence);
    this.#socket.send(this.#writer.memory, this.#writer.length);
    for (let length = this.#socket.receive(); length > 0; length = this.#socket.receive())
      for (const message of readMessages(this.#socket.received, length))
        if (message.sequence === sequence && (readReply(message)?.errno ?? 0) !== 0) return true;
    return false;
  }

  /**
   * Both the question and every piece of the answer are waited for on another thread: while it looks for what it
   * was asked for, the kernel holds whoever reads.
   */
  async #dump(choice: Choice, wanted: Wanted, visit: Visit): Promise<void> {
    const sequence = this.#nextSequence();
    this.#writer.clear();
    writeDump(this.#writer, sequence, choice);
    await this.#socket.sendAsync(this.#writer.buffer, this.#writer.length);
    for (let done = false; !done; ) {
      const length = await this.#socket.receiveAsync();
      if (length <= 0) throw new Error('a dump of connections ended early');
      for (const message of readMessages(this.#socket.received, length))
        if (message.sequence === sequence) {
          if (isLast(message)) done = true;
          else visitIf(message, wanted, visit);
        }
    }
  }

  /** Sends a message for each handle; answers what was refused, and why. */
  async #ask(type: number, handles: readonly Uint8Array[]): Promise<string[]> {
    const first = this.#sequence + 1;
    this.#writer.clear();
    for (const handle of handles) writeHandleMessage(this.#writer, type, 0, this.#nextSequence(), handle);
    await this.#socket.sendAsync(this.#writer.buffer, this.#writer.length);
    const errors: string[] = [];
    for (let length = this.#socket.receive(); length !== NOTHING; length = this.#socket.receive()) {
      if (length < 0) throw new Error('answers about connections were lost');
      for (const message of readMessages(this.#socket.received, length)) {
        const reply = message.sequence >= first ? readReply(message) : undefined;
        if (reply !== undefined && reply.errno !== 0) errors.push(errnoName(reply.errno));
      }
    }
    return errors;
  }

  #nextSequence(): number {
    this.#sequence = (this.#sequence + 1) & 0x7fffffff;
    return this.#sequence;
  }
}

function isLast(message: Message): boolean {
  const reply = readReply(message);
  if (reply !== undefined && reply.errno !== 0) throw new SocketError('dump of connections', reply.errno);
  return message.type === NLMSG.DONE;
}

function visitIf(message: Message, wanted: Wanted, visit: Visit): void {
  const connection = readConnection(message, wanted);
  if (connection !== undefined) visit(connection);
}
