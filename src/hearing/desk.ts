/** What the answer thread does in each of its turns. Its clock does not go back. */
import type { Address } from '../model/address.ts';
import { BEAT, BEAT_INTERVAL_MS, type Command, END, toForget } from '../names/control.ts';
import { Leases, type Recovered } from '../names/leases.ts';
import { AnswerListener } from '../names/listener.ts';
import { type LeaseChange, NO_SUBJECTS, type Subjects } from '../names/subjects.ts';
import { ControlSocket } from './controlsocket.ts';
import type { FromThread, HearingCounts, ToThread } from './messages.ts';
import type { QueueSocket } from './queuesocket.ts';

/** The switch is of no pod. */
const LOOPBACKS = ['127.0.0.1' as Address, '::1' as Address];
/** Packets that are read before the beat, the clock and the agent have their turn. */
const MOST_AT_ONCE = 256;
const TICK_MS = 1_000;
const REPORT_MS = 100;

/** Milliseconds since 1970, as they were when the process started: the same in every thread, and never back. */
const now = () => performance.timeOrigin + performance.now();

export class AnswerDesk {
  readonly #queue: QueueSocket;
  readonly #control = new ControlSocket();
  readonly #leases = new Leases();
  readonly #listener = new AnswerListener(this.#leases);
  readonly #post: (message: FromThread) => void;
  readonly #startMs = now();
  #recovered: readonly Recovered[];
  #commands: ReadonlyMap<string, Command> = new Map();
  #subjects: Subjects = NO_SUBJECTS;
  #untaken = 0;
  #beating = false;
  #beatMs = 0;
  #tickMs = 0;
  #reportMs = 0;
  #reported = '';

  constructor(queue: QueueSocket, recovered: readonly Recovered[], post: (message: FromThread) => void) {
    this.#queue = queue;
    this.#recovered = recovered;
    this.#post = post;
  }

  /** How long nothing is due. */
  dueInMs(): number {
    return Math.max(0, Math.ceil(this.#beatMs + BEAT_INTERVAL_MS - now()));
  }

  /** All that waits, and what is due. */
  work(): void {
    this.#queue.read(MOST_AT_ONCE, ({ id, bytes }) => {
      // The addresses first, and then the answer: that is all there is to it.
      try {
        this.#apply(this.#listener.hear(bytes, now()));
      } finally {
        this.#queue.accept(id);
      }
    });
    const nowMs = now();
    if (nowMs - this.#beatMs >= BEAT_INTERVAL_MS) this.#beat(nowMs);
    if (nowMs - this.#tickMs >= TICK_MS) this.#tick(nowMs);
    if (nowMs - this.#reportMs >= REPORT_MS) this.#report(nowMs);
  }

  /** Answers false where it is to end. */
  obey(message: ToThread): boolean {
    switch (message.kind) {
      case 'subjects':
        this.#configure(message.subjects, message.renewed);
        return true;
      case 'sync':
        this.#post({ kind: 'facts', facts: this.#leases.takeNews(), synced: message.id });
        return true;
      case 'stop':
        return false;
    }
  }

  /** No more answers wait from here on; those that do go on. */
  close(): void {
    for (const address of LOOPBACKS) this.#control.tell(END, address, address);
    this.#queue.read(Number.POSITIVE_INFINITY, ({ id }) => this.#queue.accept(id));
    this.#queue.close();
    this.#control.close();
  }

  #configure(subjects: Subjects, renewed: boolean): void {
    const nowMs = now();
    this.#subjects = subjects;
    this.#commands = new Map(subjects.sets.map(({ name, command }) => [name, command]));
    this.#apply(this.#leases.configure(subjects, nowMs));
    if (renewed) this.#apply(this.#leases.learnAll(nowMs));
    const agedMs = nowMs - this.#startMs;
    this.#leases.recover(
      this.#recovered
        .map(each => ({ ...each, leftMs: each.leftMs - agedMs }))
        .filter(({ leftMs }) => leftMs > 0),
      nowMs,
    );
    this.#recovered = [];
    this.#beat(nowMs);
    this.#report(nowMs);
  }

  /** A kernel without the rules takes none of it, and costs a system call. */
  #beat(nowMs: number): void {
    this.#beatMs = nowMs;
    if (this.#subjects.pods.length === 0) {
      this.#beating = false;
      return;
    }
    const taken = LOOPBACKS.map(address => this.#control.tell(BEAT, address, address));
    this.#beating = taken.includes(true);
  }

  #tick(nowMs: number): void {
    this.#tickMs = nowMs;
    this.#apply(this.#leases.tick(nowMs));
  }

  #apply(changes: readonly LeaseChange[]): void {
    for (const { kind, set, pod, peer } of changes) {
      const learn = this.#commands.get(set);
      if (learn === undefined) continue;
      if (!this.#control.tell(kind === 'learn' ? learn : toForget(learn), pod, peer)) this.#untaken++;
    }
  }

  #report(nowMs: number): void {
    this.#reportMs = nowMs;
    const facts = this.#leases.takeNews();
    if (facts.length > 0) this.#post({ kind: 'facts', facts });
    const counts = this.#counts();
    const text = JSON.stringify(counts);
    if (text !== this.#reported) this.#post({ kind: 'counts', counts });
    this.#reported = text;
  }

  #counts(): HearingCounts {
    return {
      ...this.#listener.counts,
      untaken: this.#untaken,
      evicted: this.#leases.evicted,
      overruns: this.#queue.overruns,
      addresses: this.#leases.size,
      beating: this.#beating,
    };
  }
}
