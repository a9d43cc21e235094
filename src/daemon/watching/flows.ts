/**
 * New connections by name, while they have followers: read some twenty times a second, named by the agent, and given
 * to each of them. It takes a share of one core at most: connections beyond that are lost, and counted.
 */
import type { Log } from '../../agent/log.ts';
import { whyNoConntrackEvents } from '../../kernel/host/read.ts';
import { type NewConnection, NewConnections } from '../../kernel/netlink/conntrack/newconnections.ts';
import type { Address } from '../../model/address.ts';
import type { ModelView } from '../../observe/denials/modelview.ts';
import type { ServiceOf } from '../../observe/denials/servicenames.ts';
import { Namer } from '../../observe/flows/name.ts';
import type { SeenFlow } from '../../observe/flows/seenflow.ts';
import type { FlowBatch, FlowSource, FlowsFacts } from '../../observe/flows/source.ts';

const EVERY_MS = 40;
/** How long a turn may take; the clock is read once in so many connections. */
const TURN_MS = 6;
const LOOK_EVERY = 64;
/** Read in each turn at least, even where the machine is so busy that the time is over at once. */
const LEAST_AT_ONCE = 256;
/** A node with many pods has many interfaces, and they are seldom others. */
const OWN_MS = 10_000;
const RETRY_MS = 10_000;

type Follower = (batch: FlowBatch) => void;

export interface FlowsOptions {
  readonly view: ModelView;
  readonly serviceOf?: ServiceOf | undefined;
  readonly ownAddresses: () => ReadonlySet<Address>;
  readonly log: Log;
}

export class FlowReader implements FlowSource {
  readonly #options: FlowsOptions;
  readonly #log: Log;
  readonly #followers = new Set<Follower>();
  #socket: NewConnections | undefined;
  #timer: NodeJS.Timeout | undefined;
  #error: string | undefined;
  #own: { readonly atMs: number; readonly addresses: ReadonlySet<Address> } | undefined;
  #seen = 0;
  #others = 0;
  /** Lost at all sockets so far, and at this one until the previous turn. */
  #lost = 0;
  #lostHere = 0;
  /** Connections that got no names because of an error in this program, since this socket was opened. */
  #unnamed = 0;

  constructor(options: FlowsOptions) {
    this.#options = options;
    this.#log = options.log;
  }

  /** Opens the socket in the network namespace of this thread. */
  follow(follower: Follower): () => void {
    // One for each call, also where the same function follows twice.
    const own: Follower = batch => follower(batch);
    this.#followers.add(own);
    this.#log.debug({ followers: this.#followers.size }, 'new connections are followed');
    if (this.#followers.size === 1) this.#open();
    return () => {
      this.#followers.delete(own);
      if (this.#followers.size === 0) this.#close();
    };
  }

  facts(): FlowsFacts {
    return {
      isOpen: this.#socket !== undefined,
      ...(this.#error !== undefined && { error: this.#error }),
      seen: this.#seen,
      others: this.#others,
      lost: this.#lost,
    };
  }

  close(): void {
    this.#followers.clear();
    this.#close();
  }

  #open(): void {
    try {
      this.#socket = NewConnections.open();
      this.#lostHere = 0;
      this.#unnamed = 0;
      this.#error = whyNoConntrackEvents();
      this.#timer = setInterval(() => this.#turn(), EVERY_MS).unref();
    } catch (error) {
      this.#failed(error as Error);
    }
  }

  #close(): void {
    clearTimeout(this.#timer); // either timer
    this.#socket?.close();
    this.#socket = undefined;
  }

  #turn(): void {
    try {
      const flows = this.#read();
      const lost = this.#lostSince();
      if (flows.length > 0 || lost > 0) this.#tell({ flows, lost });
    } catch (error) {
      this.#failed(error as Error);
    }
  }

  #read(): SeenFlow[] {
    const flows: SeenFlow[] = [];
    const namer = this.#namer();
    const [atMs, endMs] = [Date.now(), performance.now() + TURN_MS];
    const mayGoOn = (count: number) =>
      count < LEAST_AT_ONCE || count % LOOK_EVERY > 0 || performance.now() < endMs;
    this.#socket?.read(mayGoOn, connection => this.#take(connection, namer, atMs, flows));
    return flows;
  }

  #namer(): Namer {
    const { view, serviceOf, ownAddresses } = this.#options;
    const nowMs = performance.now();
    if (this.#own === undefined || nowMs - this.#own.atMs > OWN_MS)
      this.#own = { atMs: nowMs, addresses: ownAddresses() };
    return new Namer(view, { serviceOf, ownAddresses: this.#own.addresses });
  }

  /** A connection that cannot be named keeps no other from its name. */
  #take(connection: NewConnection, namer: Namer, atMs: number, flows: SeenFlow[]): void {
    try {
      const named = namer.name(connection);
      if (named === undefined) this.#others++;
      else flows.push({ number: ++this.#seen, atMs, ...named });
    } catch (error) {
      if (this.#unnamed++ === 0)
        this.#log.warn({}, `a new connection was not named: ${(error as Error).message}`);
    }
  }

  #lostSince(): number {
    const here = (this.#socket?.lost ?? 0) + this.#unnamed;
    const lost = here - this.#lostHere;
    this.#lostHere = here;
    this.#lost += lost;
    return lost;
  }

  #tell(batch: FlowBatch): void {
    for (const follow of [...this.#followers])
      try {
        follow(batch);
      } catch (error) {
        this.#log.warn(
          {},
          `a follower of new connections failed, and misses some: ${(error as Error).message}`,
        );
      }
  }

  #failed({ message }: Error): void {
    this.#close();
    if (message !== this.#error)
      this.#log.warn({ retryMs: RETRY_MS }, `nothing is known of new connections: ${message}`);
    this.#error = message;
    this.#timer = setTimeout(() => this.#open(), RETRY_MS).unref();
  }
}
