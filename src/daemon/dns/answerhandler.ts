/**
 * The work of the answer thread: reads waiting answers, puts their addresses into the kernel's sets, and lets them go
 * on; besides it sends heartbeats, renews leases and reports to the main thread. Its clock does not go back.
 */
import { giveMemoryBack } from '../../kernel/host/memory.ts';
import { Turns } from '../../lib/fairness/turns.ts';
import { WorkBudget } from '../../lib/fairness/workbudget.ts';
import type { Address } from '../../model/address.ts';
import { namespaceOfPod, type PodKey } from '../../model/cluster.ts';
import { AnswerReader } from '../../names/answerreader.ts';
import {
  type Command,
  forgetCommandOf,
  HEARTBEAT_INTERVAL_MS,
  startWaiting,
  stopWaiting,
} from '../../names/control.ts';
import type { DnsRecord } from '../../names/dnscache.ts';
import { Leases, type Recovered } from '../../names/leases.ts';
import { LIFETIMES, NAMES_LIMITS, periodMs } from '../../names/leasetable.ts';
import type { Transport } from '../../names/packet.ts';
import { type LeaseChange, type NamesPod, NO_SUBJECTS, type Subjects } from '../../names/subjects.ts';
import { ControlSocket } from './controlsocket.ts';
import {
  type AnswerThreadOptions,
  type DnsCounts,
  type FromThread,
  monotonicMs,
  type ToThread,
  WAIT_BUCKETS_US,
} from './messages.ts';
import type { QueueSocket, WaitingPacket } from './queuesocket.ts';

/** The addresses in the packets that switch the waiting of answers on and off, which concern no pod. */
const LOOPBACKS = ['127.0.0.1' as Address, '::1' as Address];
/** Answers that are read before the heartbeat, the clock and the main thread have their turn. */
const MOST_AT_ONCE = 64;
/** After this many answers new packets are fetched in between, so that the kernel's queue has room. */
const FETCH_EVERY = 8;
const MOST_FETCHED = 256;
const BUSY_MS = 2;
const TICK_MS = 1_000;
const REPORT_MS = 100;
/** Addresses; some megabytes. */
const MANY_NEW = 8_192;

/** When the pod was created, by the clock of `now`. */
const createdMs = ({ createdAt = '' }: NamesPod) => Date.parse(createdAt) - performance.timeOrigin;

/** An answer that waits. */
interface WaitingAnswer {
  readonly id: number;
  readonly packet: Transport;
  readonly size: number;
  readonly sinceMs: number;
}

/** Whole milliseconds since the thread began. */
const now = () => Math.floor(performance.now());

export class DnsAnswerHandler {
  readonly #queue: QueueSocket;
  readonly #control = new ControlSocket();
  readonly #leases: Leases;
  readonly #reader: AnswerReader;
  readonly #turns = new Turns<PodKey, WaitingAnswer>(namespaceOfPod);
  readonly #budget = new WorkBudget(namespaceOfPod);
  readonly #ports: readonly number[];
  readonly #periodMs: number;
  readonly #post: (message: FromThread) => void;
  readonly #recoveredAtMs: number;
  #recovered: readonly Recovered[];
  #commands: ReadonlyMap<string, Command> = new Map();
  #subjects: Subjects = NO_SUBJECTS;
  #untaken = 0;
  #overBudget = 0;
  readonly #waits = new Array<number>(WAIT_BUCKETS_US.length + 1).fill(0);
  #waitedUs = 0;
  #turnCount = 0;
  #isQueueing = false;
  #answeredMs = Number.NEGATIVE_INFINITY;
  #heartbeatMs = 0;
  #tickMs = 0;
  #reportMs = 0;
  #askedMs = 0;
  #reported = '';
  /** Addresses, when memory was given back last or fewer; and packets at the last tick. */
  #sizeBefore = 0;
  #seenBefore = 0;

  constructor(queue: QueueSocket, orders: AnswerThreadOptions, post: (message: FromThread) => void) {
    const lifetimes = { ...LIFETIMES, ...orders.lifetimes };
    this.#queue = queue;
    this.#leases = new Leases(lifetimes, NAMES_LIMITS, performance.timeOrigin);
    this.#reader = new AnswerReader(this.#leases);
    this.#recovered = orders.recovered;
    this.#recoveredAtMs = orders.recoveredAtMs;
    this.#ports = orders.ports;
    this.#periodMs = periodMs(lifetimes);
    this.#post = post;
  }

  /** How long nothing is due. */
  dueInMs(): number {
    if (!this.#turns.isEmpty) return 0;
    return Math.max(0, Math.ceil(this.#heartbeatMs + HEARTBEAT_INTERVAL_MS - now()));
  }

  /** Whether answers come so fast after one another that the next is worth a short wait. */
  get isBusy(): boolean {
    return performance.now() - this.#answeredMs < BUSY_MS;
  }

  /** Handles the waiting answers and the timers that are due. With `waits`, it first waits a moment for an answer. */
  work(waits: boolean): void {
    const isFirst = waits && this.#turns.isEmpty;
    for (let turn = 0; turn < MOST_AT_ONCE; turn++) {
      if (turn % FETCH_EVERY === 0) this.#queue.read(MOST_FETCHED, this.#arrive, isFirst && turn === 0);
      const next = this.#turns.next();
      if (next === undefined) break;
      this.#answer(next.pod, next.item);
    }
    const nowMs = now();
    if (nowMs - this.#heartbeatMs >= HEARTBEAT_INTERVAL_MS) this.#heartbeat(nowMs);
    if (nowMs - this.#tickMs >= TICK_MS) this.#tick(nowMs);
    if (nowMs - this.#askedMs >= this.#periodMs) this.#ask(nowMs);
    if (nowMs - this.#reportMs >= REPORT_MS) this.#report(nowMs);
  }

  /** Packets that need not wait, or may not, go on at once without being read. */
  readonly #arrive = ({ id, bytes }: WaitingPacket): void => {
    const packet = this.#reader.read(bytes);
    const pod = packet && this.#leases.podAt(packet.to);
    if (packet !== undefined && pod !== undefined) {
      const sinceMs = performance.now();
      const isAllowed = this.#budget.allows(pod, sinceMs);
      if (isAllowed && this.#turns.put(pod, { id, packet, size: bytes.length, sinceMs })) return;
      this.#overBudget++;
    }
    this.#queue.accept(id);
  };

  /** Puts the addresses of an answer into the sets, and only then lets the answer go on. */
  #answer(pod: PodKey, { id, packet, sinceMs }: WaitingAnswer): void {
    try {
      const nowMs = now();
      const { changes, units } = this.#reader.learn(packet, nowMs);
      this.#budget.spend(pod, units, nowMs);
      this.#apply(changes);
    } finally {
      this.#queue.accept(id);
      this.#answeredMs = performance.now();
      this.#waited((this.#answeredMs - sinceMs) * 1_000);
    }
  }

  /** Returns false where the thread is to end. */
  obey(message: ToThread): boolean {
    switch (message.kind) {
      case 'subjects':
        this.#configure(message.subjects, message.renewed);
        return true;
      case 'sync':
        this.#say(this.#leases.drainAllUpdates(), message.id);
        return true;
      case 'inUse':
        this.#leases.inUse(message.pairs, now());
        return true;
      case 'stop':
        return false;
    }
  }

  /** No more answers wait from here on; those that do go on. */
  close(): void {
    this.#switch(stopWaiting);
    for (let next = this.#turns.next(); next !== undefined; next = this.#turns.next())
      this.#queue.accept(next.item.id);
    while (this.#queue.read(MOST_FETCHED, ({ id }) => this.#queue.accept(id)) > 0);
    this.#queue.close();
    this.#control.close();
  }

  #configure(subjects: Subjects, renewed: boolean): void {
    const nowMs = now();
    this.#subjects = subjects;
    this.#commands = new Map(subjects.sets.map(({ name, command }) => [name, command]));
    this.#apply(this.#leases.configure(subjects, nowMs));
    if (renewed) this.#apply(this.#leases.learnAll(nowMs));
    // Seconds may pass before this thread runs.
    const agedMs = monotonicMs() - this.#recoveredAtMs;
    this.#apply(this.#leases.recover(this.#recovered, nowMs, createdMs, agedMs));
    this.#recovered = [];
    const pods = new Set(subjects.pods.map(({ key }) => key));
    this.#budget.retainOnly(pods);
    this.#reader.retainOnly(pods);
    this.#heartbeat(nowMs);
    this.#report(nowMs);
  }

  /** A kernel without the rules takes none of it, and costs a system call. */
  #heartbeat(nowMs: number): void {
    this.#heartbeatMs = nowMs;
    if (this.#subjects.pods.length === 0) {
      this.#isQueueing = false;
      return;
    }
    this.#isQueueing = this.#switch(startWaiting);
  }

  /** Whether the kernel took any of it: it has a switch for each port of resolvers, in each family. */
  #switch(command: (port: number) => Command): boolean {
    const taken = this.#ports.flatMap(port =>
      LOOPBACKS.map(address => this.#control.tell(command(port), address, address)),
    );
    return taken.includes(true);
  }

  /** Asks the main thread which pairs that end soon still have connections. */
  #ask(nowMs: number): void {
    this.#askedMs = nowMs;
    const pairs = this.#leases.ending(nowMs + 2 * this.#periodMs);
    if (pairs.length > 0) this.#post({ kind: 'ending', pairs });
    this.#say(this.#leases.drainAllUpdates());
  }

  #waited(us: number): void {
    const bucket = WAIT_BUCKETS_US.findIndex(most => us <= most);
    this.#waits[bucket < 0 ? WAIT_BUCKETS_US.length : bucket]!++;
    this.#waitedUs += us;
  }

  #tick(nowMs: number): void {
    this.#tickMs = nowMs;
    if (this.#subjects.pods.length > 0) this.#turnCount++;
    this.#apply(this.#leases.tick(nowMs));
    this.#giveBack();
  }

  /**
   * Memory for many new addresses is given back when nothing else is to do: V8 would otherwise keep as much again for
   * the next ones.
   */
  #giveBack(): void {
    const { size } = this.#leases;
    const { seen } = this.#reader.counts;
    if (size - this.#sizeBefore >= MANY_NEW && seen === this.#seenBefore) {
      giveMemoryBack();
      this.#sizeBefore = size;
    }
    this.#sizeBefore = Math.min(this.#sizeBefore, size);
    this.#seenBefore = seen;
  }

  #apply(changes: readonly LeaseChange[]): void {
    for (const { kind, set, pod, peer } of changes) {
      const learn = this.#commands.get(set);
      if (learn === undefined) continue;
      if (!this.#control.tell(kind === 'learn' ? learn : forgetCommandOf(learn), pod, peer)) this.#untaken++;
    }
  }

  #report(nowMs: number): void {
    this.#reportMs = nowMs;
    this.#say(this.#leases.drainUpdates());
    const counts = this.#counts();
    const text = JSON.stringify(counts);
    if (text !== this.#reported) this.#post({ kind: 'counts', counts });
    this.#reported = text;
  }

  #say(records: readonly DnsRecord[], synced?: number): void {
    if (records.length > 0 || synced !== undefined)
      this.#post({ kind: 'records', records, ...(synced !== undefined && { synced }) });
  }

  #counts(): DnsCounts {
    return {
      ...this.#reader.counts,
      overBudget: this.#overBudget,
      untaken: this.#untaken,
      evicted: this.#leases.evicted,
      overruns: this.#queue.overruns,
      waits: this.#waits,
      waitedUs: this.#waitedUs,
      turns: this.#turnCount,
      addresses: this.#leases.size,
      isQueueing: this.#isQueueing,
    };
  }
}
