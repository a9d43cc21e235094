/** The nf_tables of one network namespace, over raw netlink. */

import { EventLoopYield } from '../../../lib/async/eventloopyield.ts';
import { FAMILIES } from '../../../model/address.ts';
import type { PodLinks } from '../../../model/podlinks.ts';
import { type Generation, type Kernel, KernelError, type Owner, type Snapshot } from '../../../nft/kernel.ts';
import { type MissingFeature, NO_ACK_AT_END, NO_OWNERS } from '../../../nft/missingfeature.ts';
import type { Op } from '../../../nft/plan/op.ts';
import type { QueueBy, Ruleset, TableFamily } from '../../../nft/ruleset.ts';
import { sparingly } from '../../host/memory.ts';
import { readAttributes, readU32 } from '../wire/attributes.ts';
import { Conversation, untilWhole } from '../wire/conversation.ts';
import { Interrupted } from '../wire/dumpreader.ts';
import type { Message } from '../wire/messages.ts';
import { NetlinkSocket, SocketError } from '../wire/socket.ts';
import { Committer } from './committer.ts';
import { NETLINK_NETFILTER, TABLE } from './constants.ts';
import { Exchange } from './exchange.ts';
import { ForeignWriters } from './foreignwriters.ts';
import { OWNED, Ownership, readTableFlags, type TableFlagsByFamily } from './ownership.ts';
import { type Abilities, acknowledgesEnd, probeKernel, unusable } from './probe.ts';
import { getTable, readRuleset } from './read-ruleset.ts';

export interface NftKernelOptions {
  /** How long other processes must not have written before a small batch is sent on the event loop itself. */
  readonly quietMs?: number;
  /** Do without these, like a kernel that lacks them. */
  readonly without?: readonly MissingFeature[];
  /** How pods of this node are linked with it: the kernel must have the features that this needs. */
  readonly podLinks?: PodLinks;
}

const QUIET_MS = 60_000;

/**
 * Opens the kernel of the network namespace that the calling thread is in; it stays with that one. Throws
 * KernelError, of one clear sentence, where nf_tables cannot be used.
 */
export async function openNftKernel({
  quietMs = QUIET_MS,
  without = [],
  podLinks = 'others',
}: NftKernelOptions = {}): Promise<Kernel> {
  const socket = openSocket(); // before anything is awaited: the thread may be elsewhere by then
  const conversation = new Conversation(socket);
  const exchange = new Exchange(conversation);
  try {
    const { missingFeatures, ...found } = await ask(exchange, podLinks);
    const all = [...new Set([...missingFeatures, ...without])];
    return new NftKernel(conversation, exchange, { ...found, missingFeatures: all, quietMs });
  } catch (error) {
    socket.close();
    throw error;
  }
}

async function ask(exchange: Exchange, podLinks: PodLinks): Promise<Omit<Found, 'quietMs'>> {
  const acksEnd = await acknowledgesEnd(exchange);
  const tables = readTableFlags(exchange);
  const { missingFeatures, queue } = await probeKernel(exchange, {
    existing: new Set(tables.keys()),
    podLinks,
  });
  return { missingFeatures: [...(acksEnd ? [] : [NO_ACK_AT_END]), ...missingFeatures], queue, tables };
}

function openSocket(): NetlinkSocket {
  try {
    return new NetlinkSocket(NETLINK_NETFILTER);
  } catch (error) {
    throw error instanceof SocketError ? unusable(error.code, error) : error;
  }
}

interface Found extends Abilities {
  readonly tables: TableFlagsByFamily;
  readonly quietMs: number;
}

class NftKernel implements Kernel {
  readonly missingFeatures: readonly MissingFeature[];
  readonly queue: QueueBy | undefined;
  readonly #conversation: Conversation;
  readonly #exchange: Exchange;
  readonly #writers: ForeignWriters;
  readonly #ownership: Ownership;
  readonly #committer: Committer;

  constructor(conversation: Conversation, exchange: Exchange, found: Found) {
    this.missingFeatures = found.missingFeatures;
    this.queue = found.queue;
    this.#conversation = conversation;
    this.#exchange = exchange;
    const lacks = (feature: MissingFeature) => found.missingFeatures.includes(feature);
    this.#writers = new ForeignWriters(found.quietMs, () => exchange.generation());
    this.#ownership = new Ownership(lacks(NO_OWNERS) ? 0 : OWNED, found.tables);
    const ackOn = lacks(NO_ACK_AT_END) ? 'last' : 'end';
    this.#committer = new Committer(exchange, this.#writers, this.#ownership, ackOn);
  }

  dump(known?: Ruleset): Promise<Snapshot> {
    return this.#inTurn(() => sparingly(() => this.#dump(known)));
  }

  generation(): Promise<Generation> {
    return this.#inTurn(async () => this.#writers.look());
  }

  owner(): Promise<Owner> {
    return this.#inTurn(async () =>
      readOwner(this.#exchange, this.#ownership.tableFlags, this.#ownership.existing),
    );
  }

  async commit(ops: readonly Op[], expected?: Generation): Promise<Generation> {
    if (!this.#conversation.isIdle || !this.#committer.mayBlockLoop(ops))
      return this.#inTurn(() => this.#committer.commit(ops, expected));
    try {
      return this.#committer.commitSync(ops, expected);
    } catch (error) {
      return asKernelError(error);
    }
  }

  close(): void {
    this.#conversation.close();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#conversation.inTurn(work).catch(asKernelError);
  }

  /** Dumps everything at one generation, and again if that changes. */
  #dump(known?: Ruleset): Promise<Snapshot> {
    const slices = new EventLoopYield();
    return untilWhole(async () => {
      const generation = this.#writers.look();
      const reader = await readRuleset(this.#exchange, slices, known);
      if (this.#writers.look() !== generation) throw new Interrupted('changed while it was read');
      this.#ownership.saw(reader.flags());
      return { ruleset: reader.ruleset(), generation };
    });
  }
}

/** An error of the socket itself: the batch never reached nf_tables. */
function asKernelError(error: unknown): never {
  if (error instanceof Interrupted)
    throw new KernelError('EAGAIN', `EAGAIN: read the tables: ${error.message}, at every attempt`);
  if (!(error instanceof SocketError)) throw error;
  const size =
    error.code === 'EMSGSIZE' ? ': the batch is larger than the send buffer of the socket may be' : '';
  throw new KernelError(error.code, `${error.message}${size}; nothing was changed`, { cause: error });
}

// Asks the kernel who owns our tables: the port number of one netlink socket (NFTA_TABLE_OWNER), or none.

/** `tableFlags` are those that we give our tables on this kernel; `existing` is known to exist. */
function readOwner(
  exchange: Exchange,
  tableFlags: number,
  existing: readonly { readonly family: TableFamily }[],
): Owner {
  if (tableFlags !== OWNED) return 'shared';
  // Policy needs the two of IP; the one of bridges is there where pods are on bridges.
  const families = new Set([...FAMILIES, ...existing.map(({ family }) => family)]);
  const owners = Array.from(families, family => ownerOf(getTable(exchange, family)));
  if (owners.includes('another')) return 'another';
  return owners.includes('none') ? 'none' : 'us';
}

function ownerOf(table: Message | undefined): 'us' | 'another' | 'none' {
  const owner = table && readAttributes(table.attributes).get(TABLE.OWNER);
  if (table === undefined || owner === undefined) return 'none';
  return readU32(owner) === table.port ? 'us' : 'another';
}
