/** The connection tracking of one network namespace, over raw netlink and sockets of its own. */
import { type Address, familyOf } from '../../../model/address.ts';
import type { Flow } from '../../../model/flow.ts';
import { type Connection, type Conntrack, FEW_ADDRESSES } from '../../../nft/conntrack.ts';
import { type MissingFeature, NO_CONNECTION_FILTER } from '../../../nft/missingfeature.ts';
import { NETLINK_NETFILTER } from '../nftables/constants.ts';
import { errnoName } from '../wire/constants.ts';
import { Conversation, type Pause, type Write } from '../wire/conversation.ts';
import { type Message, readReply } from '../wire/messages.ts';
import { NetlinkSocket } from '../wire/socket.ts';
import {
  CT_MSG,
  type DumpFilter,
  readConnection,
  readCount,
  writeCount,
  writeDump,
  writeHandleMessage,
  writeSenselessDump,
} from './ctnetlink.ts';

type Wanted = (flow: Flow) => boolean;
type Visit = (connection: Connection) => void;

// Deletions in one send. Their answers fit the receive buffer, even if all are refused.
const DELETED_AT_ONCE = 1000;

export interface ConntrackOptions {
  /** Do without these, like a kernel that lacks them. */
  readonly without?: readonly MissingFeature[];
}

/**
 * A dump walks the kernel's whole table, which takes 6.1 ms with 262,144 buckets, even if it is empty. This many
 * connections are read in the same time.
 */
const READ_PER_WALK = 1_500;

/** Opens the table of the network namespace that the calling thread is in; it stays with that one. */
export function openConntrack({ without = [] }: ConntrackOptions = {}): Conntrack & {
  /** Walks through the table since it was opened. */
  readonly walks: number;
} {
  return new KernelConntrack(without);
}

class KernelConntrack implements Conntrack {
  // A dump may take a second, and its socket takes nothing else until it is read to its end.
  readonly #aboutFew = newConversation();
  readonly #aboutMany = newConversation();
  readonly #each = newConversation();
  readonly missingFeatures: readonly MissingFeature[];
  walks = 0;

  constructor(without: readonly MissingFeature[]) {
    this.missingFeatures = this.#filters() ? without : [...new Set([NO_CONNECTION_FILTER, ...without])];
  }

  read(about: readonly Address[] | 'all', wanted: Wanted, visit: Visit, pause?: Pause): Promise<void> {
    const isAboutFew = about !== 'all' && about.length <= FEW_ADDRESSES;
    const conversation = isAboutFew ? this.#aboutFew : this.#aboutMany;
    return conversation.inTurn(async () => {
      const tracked = countOf(conversation);
      if (tracked === 0) return;
      const ends = about === 'all' ? undefined : new Set(about);
      const isAsked: Wanted = flow => ends === undefined || ends.has(flow.from) || ends.has(flow.to);
      for (const choice of about === 'all' ? (['all'] as const) : this.#choicesFor(about, tracked)) {
        this.walks++;
        await dump(conversation, choice, flow => isAsked(flow) && wanted(flow), visit, pause);
      }
    });
  }

  has({ handle }: Connection): Promise<boolean> {
    return this.#each.inTurn(async () => {
      const errors = await this.#ask(CT_MSG.GET, [handle]);
      return errors.length === 0;
    });
  }

  delete(connections: readonly Connection[]): Promise<number> {
    return this.#each.inTurn(async () => {
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
    for (const conversation of [this.#aboutFew, this.#aboutMany, this.#each]) conversation.close();
  }

  /** The dumps that together return the wanted connections: a dump of all, if that is less work. */
  #choicesFor(about: readonly Address[], tracked: number): DumpFilter[] {
    const choices = this.#choicesOf(about);
    return tracked <= READ_PER_WALK * (choices.length - 1) ? ['all'] : choices;
  }

  /** The kernel chooses by IPv4 addresses only, if at all. */
  #choicesOf(about: readonly Address[]): DumpFilter[] {
    const ofIpv4 = about.filter(address => familyOf(address) === 'ip');
    const family: DumpFilter[] = ofIpv4.length < about.length ? ['ip6'] : [];
    if (ofIpv4.length === 0) return family;
    if (ofIpv4.length > FEW_ADDRESSES || this.#mustReadAll()) return family.length > 0 ? ['all'] : ['ip'];
    const roles = ['opens', 'answers'] as const;
    return [...ofIpv4.flatMap(address => roles.map((role): DumpFilter => ({ address, role }))), ...family];
  }

  #mustReadAll(): boolean {
    return this.missingFeatures.includes(NO_CONNECTION_FILTER);
  }

  /** Whether the kernel filters dumps: if so, it refuses a senseless filter. */
  #filters(): boolean {
    let refused = false;
    this.#each.askSync([writeSenselessDump], message => {
      refused ||= (readReply(message)?.errno ?? 0) !== 0;
    });
    return refused;
  }

  /** Sends a message for each handle; returns the refused ones, with the errors. */
  async #ask(type: number, handles: readonly Uint8Array[]): Promise<string[]> {
    const errors: string[] = [];
    const writes = handles.map(
      (handle): Write =>
        (to, sequence) =>
          writeHandleMessage(to, type, 0, sequence, handle),
    );
    await this.#each.ask(writes, message => {
      const reply = readReply(message);
      if (reply !== undefined && reply.errno !== 0) errors.push(errnoName(reply.errno));
    });
    return errors;
  }
}

/** Connections that are tracked, those of packets that are on their way among them. */
function countOf(conversation: Conversation): number {
  let count = Number.POSITIVE_INFINITY;
  conversation.askSync([writeCount], message => {
    count = readCount(message) ?? count;
  });
  return count;
}

function newConversation(): Conversation {
  return new Conversation(new NetlinkSocket(NETLINK_NETFILTER));
}

/**
 * Another thread waits for the request and for each part of the answer: while the kernel searches its table, it blocks
 * the reader.
 */
function dump(
  conversation: Conversation,
  choice: DumpFilter,
  wanted: Wanted,
  visit: Visit,
  pause: Pause | undefined,
): Promise<void> {
  const write: Write = (to, sequence) => writeDump(to, sequence, choice);
  const take = (message: Message) => visitIf(message, wanted, visit);
  return conversation.dump(write, take, 'thread', pause);
}

function visitIf(message: Message, wanted: Wanted, visit: Visit): void {
  const connection = readConnection(message, wanted);
  if (connection !== undefined) visit(connection);
}
