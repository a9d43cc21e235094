/**
 * Hears what pods are told by DNS, while any of the node's pods has a rule by name: a thread of its own, begun with the
 * first commit that has such a pod, and begun again if it ends. Never in the way of the rules.
 */
import type { Committed } from '../agent/committed.ts';
import type { NamesKnown } from '../agent/connections/knownnames.ts';
import type { Log } from '../agent/log.ts';
import { type Backoff, backoffMs } from '../async/backoff.ts';
import type { Hearing } from '../compiler/namespeers.ts';
import type { NamesFacts } from '../health/namescheck.ts';
import { AnswerThread } from '../hearing/answerthread.ts';
import type { Address } from '../model/address.ts';
import { QUEUE_NUMBER } from '../names/control.ts';
import type { Recovered } from '../names/leases.ts';
import { NO_SUBJECTS, type Subjects } from '../names/subjects.ts';
import { ToldFacts } from '../names/toldfacts.ts';
import { readToldElements } from '../netlink/nftables/toldelements.ts';

const RETRY: Backoff = { firstMs: 1_000, mostMs: 60_000 };

export interface AnswersOptions {
  /** Undefined where this kernel has no queue. */
  readonly hearing: Hearing | undefined;
  /** Whom the rules by name are of, as of the last flush. */
  readonly subjects: () => Subjects;
  readonly log: Log;
}

export class Answers implements NamesKnown {
  readonly #options: AnswersOptions;
  #facts: ToldFacts | undefined;
  #thread: AnswerThread | undefined;
  #subjects = NO_SUBJECTS;
  #starting: Promise<void> | undefined;
  #error: string | undefined;
  /** Since it was heard last. */
  #failures = 0;
  #closed = false;

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  get subjects(): Subjects {
    return this.#subjects;
  }

  get facts(): ToldFacts | undefined {
    return this.#facts;
  }

  async synced(): Promise<void> {
    await this.#starting;
    await this.#thread?.synced();
  }

  /** What the check of the node says of it. */
  status(): NamesFacts {
    const { hearing } = this.#options;
    const counts = this.#thread?.counts;
    return {
      pods: this.#subjects.pods.length,
      canWait: hearing !== undefined,
      resolvers: hearing?.resolvers ?? [],
      ...(this.#error !== undefined && counts === undefined && { error: this.#error }),
      ...(counts !== undefined && { counts }),
    };
  }

  /** The rules are in force: whoever they are about is heard from now on. Never waits. */
  committed({ ops }: Pick<Committed, 'ops'>): void {
    const subjects = this.#options.subjects();
    const renewed = ops.some(op => op.op === 'addSet' && op.set.dynamic !== undefined);
    if (subjects === this.#subjects && !renewed) return;
    this.#subjects = subjects;
    this.#facts?.retainOnly(new Set(subjects.pods.map(({ key }) => key)));
    if (this.#thread !== undefined) this.#thread.configure(subjects, renewed);
    else if (subjects.pods.length > 0) this.#start();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#starting;
    await this.#thread?.close();
  }

  #start(): void {
    this.#starting ??= this.#open().finally(() => {
      this.#starting = undefined;
    });
  }

  async #open(): Promise<void> {
    if (this.#closed || this.#options.hearing === undefined) return;
    try {
      const recovered = await readRecovered();
      if (this.#closed) return;
      this.#thread = new AnswerThread(QUEUE_NUMBER, recovered, {
        told: facts => this.#facts?.note(facts),
        lost: error => this.#lost(error),
      });
      this.#thread.configure(this.#subjects, false);
      const facts = new ToldFacts();
      this.#facts ??= facts;
      this.#options.log.info({ recovered: recovered.length }, 'peers by name: hearing the answers of DNS');
    } catch (error) {
      this.#lost((error as Error).message);
    }
  }

  #lost(error: string): void {
    if (this.#closed) return;
    if (this.#thread?.counts !== undefined) {
      this.#failures = 0;
      this.#error = undefined;
    }
    this.#thread = undefined;
    const retryMs = backoffMs(RETRY, ++this.#failures);
    if (this.#error !== error)
      this.#options.log.error(
        { retryMs },
        `peers by name: answers are not heard, and nothing is learnt: ${error}`,
      );
    this.#error = error;
    setTimeout(() => this.#start(), retryMs).unref();
  }
}

/** What stands of sets that are still there, as pairs. */
async function readRecovered(): Promise<Recovered[]> {
  const sets = await readToldElements();
  return sets.flatMap(set =>
    [...set.elements].flatMap(([key, { leftMs = 0 }]) => {
      const [pod, peer] = key.split(' . ') as Address[];
      return peer === undefined || pod === undefined ? [] : [{ set: set.name, pod, peer, leftMs }];
    }),
  );
}
