/** The table of attached pods in the kernel of one network namespace. */
import { type Address, addressFromBytes, FAMILIES, type Family } from '../../model/address.ts';
import type { Protocol } from '../../model/policy.ts';
import {
  DATA,
  ELEMENT,
  ELEMENTS,
  MSG,
  NETLINK_NETFILTER,
  NLM_F,
  NLMSG,
  UDATA,
} from '../../netlink/nftables/constants.ts';
import { readComment } from '../../netlink/nftables/userdata.ts';
import {
  AttributeWriter,
  eachAttribute,
  readAttributes,
  readHex,
  type Span,
} from '../../netlink/wire/attributes.ts';
import { errnoName } from '../../netlink/wire/errno.ts';
import { beginMessage, endMessage, type Message, readMessages } from '../../netlink/wire/messages.ts';
import { readReply } from '../../netlink/wire/replies.ts';
import { NetlinkSocket } from '../../netlink/wire/socket.ts';
import { hostPortMap, NFPROTO_INET, POD_TABLE, type PortElement, type TableMessage } from './podtable.ts';

/** nfgenmsg.res_id of a batch for nf_tables. */
const NFTABLES = 10;

/** Why the kernel refused a batch; nothing of it was done. */
export class TableError extends Error {
  override readonly name = 'TableError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export class PodTableSocket {
  readonly #socket = new NetlinkSocket(NETLINK_NETFILTER);
  readonly #writer = new AttributeWriter();
  #sequence = 0;
  #turn: Promise<unknown> = Promise.resolve();

  /** All of it or nothing. Throws TableError. */
  commit(messages: readonly TableMessage[]): Promise<void> {
    return this.#inTurn(() => this.#commit(messages));
  }

  /** Every host port that stands; none where there is no table yet. */
  ports(): Promise<PortElement[]> {
    return this.#inTurn(async () => {
      const found: PortElement[] = [];
      for (const family of FAMILIES) found.push(...(await this.#portsOf(family)));
      return found;
    });
  }

  close(): void {
    void this.#turn.then(() => this.#socket.close());
  }

  async #commit(messages: readonly TableMessage[]): Promise<void> {
    this.#writer.clear();
    const first = this.#sequence + 1;
    this.#write(NLMSG.BATCH_BEGIN, 0, 0, () => {}, NFTABLES);
    // What is refused is told of in any case. One acknowledgement for each would be more than a socket holds.
    for (const [index, { type, flags, write }] of messages.entries()) {
      const ack = index === messages.length - 1 ? NLM_F.ACK : 0;
      this.#write(type, flags | ack, NFPROTO_INET, () => write(this.#writer));
    }
    this.#write(NLMSG.BATCH_END, 0, 0, () => {}, NFTABLES);
    await this.#socket.sendAsync(this.#writer.buffer, this.#writer.length);
    let acknowledged = false;
    for (const message of this.#received(first)) {
      const reply = readReply(message);
      if (reply === undefined) continue;
      if (reply.errno !== 0) throw this.#refused(reply.errno, reply.sequence - first - 1);
      acknowledged = true;
    }
    if (!acknowledged)
      throw new TableError(
        'ENOBUFS',
        `table inet ${POD_TABLE}: no answer of the kernel to ${messages.length} messages; what stands is not known`,
      );
  }

  #refused(errno: number, at: number): TableError {
    for (const _ of this.#received(0)); // what else it said about the same batch
    const code = errnoName(errno);
    return new TableError(code, `table inet ${POD_TABLE}: ${code} at message ${at}; nothing was changed`);
  }

  async #portsOf(family: Family): Promise<PortElement[]> {
    this.#writer.clear();
    const first = this.#sequence + 1;
    this.#write(MSG.GETSETELEM, NLM_F.DUMP, NFPROTO_INET, () => {
      this.#writer.string(ELEMENTS.TABLE, POD_TABLE);
      this.#writer.string(ELEMENTS.SET, hostPortMap(family));
    });
    await this.#socket.sendAsync(this.#writer.buffer, this.#writer.length);
    const found: PortElement[] = [];
    for (const message of this.#received(first)) {
      const reply = readReply(message);
      if (reply !== undefined && errnoName(reply.errno) === 'ENOENT') return [];
      if (reply !== undefined && reply.errno !== 0)
        throw new TableError(errnoName(reply.errno), `host ports cannot be read: ${errnoName(reply.errno)}`);
      if (message.type === MSG.NEWSETELEM) found.push(...portsIn(message));
    }
    return found;
  }

  #write(type: number, flags: number, nfproto: number, content: () => void, resource = 0): void {
    this.#sequence = (this.#sequence + 1) & 0x7fffffff;
    const start = beginMessage(this.#writer, type, NLM_F.REQUEST | flags, this.#sequence, nfproto, resource);
    content();
    endMessage(this.#writer, start);
  }

  *#received(first: number): Generator<Message> {
    for (let length = this.#socket.receive(); length > 0; length = this.#socket.receive())
      for (const message of readMessages(this.#socket.received, length))
        if (message.sequence >= first) yield message;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

function portsIn({ attributes }: Message): PortElement[] {
  const list = readAttributes(attributes).get(ELEMENTS.ELEMENTS);
  const found: PortElement[] = [];
  if (list === undefined) return found;
  eachAttribute(list.bytes, list.start, list.end, (_type, start, end) =>
    found.push(portElement({ bytes: list.bytes, start, end })),
  );
  return found;
}

const PROTOCOLS: Readonly<Record<number, Protocol>> = { 6: 'TCP', 17: 'UDP', 132: 'SCTP' };

function portElement(span: Span): PortElement {
  const attributes = readAttributes(span);
  const key = Buffer.from(valueHex(attributes.get(ELEMENT.KEY)!), 'hex');
  const data = Buffer.from(valueHex(attributes.get(ELEMENT.DATA)!), 'hex');
  const userdata = attributes.get(ELEMENT.USERDATA);
  return {
    protocol: PROTOCOLS[key[0]!]!,
    hostPort: key.readUInt16BE(4),
    podPort: data.readUInt16BE(data.length - 4),
    pod: addressFromBytes(data.subarray(0, data.length - 4)) as Address,
    comment: (userdata && readComment(userdata, UDATA.ELEMENT_COMMENT)) ?? '',
  };
}

function valueHex(span: Span): string {
  return readHex(readAttributes(span).get(DATA.VALUE)!);
}
