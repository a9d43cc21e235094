/** The answer thread as the agent sees it. */
import { writeSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { close } from '../../kernel/netlink/wire/libc.ts';
import type { DnsRecord } from '../../names/dnscache.ts';
import type { Pair } from '../../names/leases.ts';
import type { Subjects } from '../../names/subjects.ts';
import { check, eventfd } from './libc.ts';
import type { AnswerThreadOptions, DnsCounts, FromThread, ToThread } from './messages.ts';

export interface AnswerThreadEvents {
  resolved(records: readonly DnsRecord[]): void;
  /** The leases of these pairs end soon; the answer is a call of `inUse` with those that have open connections. */
  ending(pairs: readonly Pair[]): void;
  /** The thread has ended by itself. */
  lost(error: string): void;
}

/** EFD_CLOEXEC. */
const CLOEXEC = 0o2000000;
const ONE = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);

export class AnswerThread {
  readonly #thread: Worker;
  readonly #wake = check('eventfd', eventfd(0, CLOEXEC));
  readonly #waiting = new Map<number, () => void>();
  #lastSync = 0;
  #counts: DnsCounts | undefined;
  #heardMs = 0;
  #ended = false;

  /** Starts a thread that reads answers in the network namespace of this thread. */
  constructor(orders: Omit<AnswerThreadOptions, 'wake'>, events: AnswerThreadEvents) {
    const file = join(import.meta.dirname, `thread${extname(import.meta.filename)}`);
    const workerData: AnswerThreadOptions = { ...orders, wake: this.#wake };
    this.#thread = new Worker(file, { workerData, trackUnmanagedFds: false, execArgv: [], stdout: false });
    this.#thread.unref();
    let error = 'the answer thread ended';
    this.#thread.on('message', (message: FromThread) => this.#take(message, events));
    this.#thread.on('error', fault => (error = (fault as Error).message));
    this.#thread.on('exit', () => {
      const expected = this.#ended;
      this.#end();
      if (!expected) events.lost(error);
    });
  }

  get counts(): DnsCounts | undefined {
    return this.#counts;
  }

  /** How long the thread has been silent; while it has pods it sends a message every second. */
  silentMs(): number {
    return performance.now() - this.#heardMs;
  }

  /** The rules for these subjects are in force; `renewed`: sets of names were recreated, and are empty. */
  configure(subjects: Subjects, renewed: boolean): void {
    this.#send({ kind: 'subjects', subjects, renewed });
  }

  /** Reports pairs with open connections to the thread. */
  inUse(pairs: readonly Pair[]): void {
    if (!this.#ended) this.#send({ kind: 'inUse', pairs });
  }

  /** Settles when all answers before this call have been reported. */
  async synced(): Promise<void> {
    if (this.#ended) return;
    const id = ++this.#lastSync;
    await new Promise<void>(resolve => {
      this.#waiting.set(id, resolve);
      this.#send({ kind: 'sync', id });
    });
  }

  /** No answer waits any more; those that do go on. */
  async close(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    const exited = new Promise(resolve => this.#thread.once('exit', resolve));
    this.#thread.ref();
    this.#send({ kind: 'stop' });
    await exited;
  }

  #send(message: ToThread): void {
    this.#thread.postMessage(message);
    if (this.#wake >= 0) writeSync(this.#wake, ONE);
  }

  #take(message: FromThread, events: AnswerThreadEvents): void {
    if (message.kind === 'counts') {
      this.#heardMs = performance.now();
      this.#counts = message.counts;
      return;
    }
    if (message.kind === 'ending') {
      events.ending(message.pairs);
      return;
    }
    events.resolved(message.records);
    if (message.synced === undefined) return;
    this.#waiting.get(message.synced)?.();
    this.#waiting.delete(message.synced);
  }

  #end(): void {
    this.#ended = true;
    for (const resolve of this.#waiting.values()) resolve();
    this.#waiting.clear();
    close(this.#wake);
  }
}
