/**
 * POSTs Events one after another, each after a random delay, because all nodes have the same to report at the same
 * moment. An Event that the server does not accept is retried with growing delays, and dropped in the end: Events are a
 * convenience, and nothing depends on them.
 */

import { backoffMs, jitteredMs } from '../../../lib/async/backoff.ts';
import type { Timing } from '../../../lib/async/timing.ts';
import { getOrMake } from '../../../lib/collections/getormake.ts';
import { largest } from '../../../lib/fairness/quota.ts';
import { errorText } from '../../../lib/text/errortext.ts';
import { ApiError, type ApiErrorCode, type Creator } from '../client/api.ts';
import { type EventSpec, eventName, eventObject, eventPath } from './event.ts';

export interface EventRecorderOptions {
  readonly api: Creator;
  /** Name of this node. */
  readonly node: string;
  readonly timing: Timing;
  readonly now?: () => Date;
  /** Called once for each kind of refusal. */
  readonly onTrouble: (reason: string) => void;
}

const LONGEST_GAP_MS = 1_000;
const RETRY = { firstMs: 1_000, mostMs: 300_000 };
const MOST_TRIES = 10;
const MOST_WAITING = 1_000;

export class EventRecorder {
  readonly #options: Required<EventRecorderOptions>;
  readonly #waiting = new WaitingEvents(MOST_WAITING);
  readonly #troubles = new Set<ApiErrorCode>();
  #failures = 0;
  #wake: () => void = () => {};

  constructor(options: EventRecorderOptions) {
    this.#options = { now: () => new Date(), ...options };
  }

  /** Never waits. Beyond a thousand that wait, Events of the namespace with most of them are lost; answers whether this one is not. */
  post(spec: EventSpec): boolean {
    const waits = this.#waiting.add({ name: eventName(spec), spec, tries: 0 });
    if (waits) this.#wake();
    return waits;
  }

  /** Withdraws an Event that no longer holds, if it was not posted yet. */
  withdraw(name: string): void {
    this.#waiting.delete(name);
  }

  /** The number of Events that wait to be posted. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Posts until the signal; Events that wait then are dropped. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    while (!signal.aborted) {
      if (this.#waiting.size === 0) await this.#something();
      await this.#options.timing.sleep(this.#waitMs(), signal);
      if (!signal.aborted) await this.#postNext(signal);
    }
  }

  #something(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve;
    });
  }

  #waitMs(): number {
    const random = this.#options.timing.random();
    if (this.#failures === 0) return LONGEST_GAP_MS * random;
    return jitteredMs(backoffMs(RETRY, this.#failures), random);
  }

  async #postNext(signal: AbortSignal): Promise<void> {
    const next = this.#waiting.next();
    if (next === undefined) return;
    try {
      await this.#create(next.spec, signal);
      this.#waiting.delete(next.name);
      this.#failures = 0;
    } catch (error) {
      if (!signal.aborted) this.#tryLater(next, error);
    }
  }

  async #create(spec: EventSpec, signal: AbortSignal): Promise<void> {
    const { api, node, now } = this.#options;
    try {
      await api.create(eventPath(spec), eventObject(spec, { node, at: now() }), signal);
    } catch (error) {
      // 409: another node has posted it already, or this one did before a restart.
      if (!(error instanceof ApiError && error.code === 409)) throw error;
    }
  }

  #tryLater(event: WaitingEvent, error: unknown): void {
    this.#failures++;
    // The Event may have been withdrawn meanwhile; otherwise it goes to the end of the queue.
    if (this.#waiting.delete(event.name) && ++event.tries < MOST_TRIES) this.#waiting.add(event);
    const code = error instanceof ApiError ? error.code : 'garbled';
    if (this.#troubles.has(code)) return;
    this.#troubles.add(code);
    this.#options.onTrouble(errorText(error));
  }
}

/**
 * Events that wait to be posted. Namespaces take turns, and if there are too many Events, the namespace with most of
 * them loses its last one: a tenant with thousands of Events cannot delay those of others.
 */
export interface WaitingEvent {
  readonly name: string;
  readonly spec: EventSpec;
  tries: number;
}

export class WaitingEvents {
  readonly #most: number;
  /** Keys are namespaces, the one whose turn is next first; the Events of each are in their order. */
  readonly #namespaces = new Map<string, Map<string, WaitingEvent>>();
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds an Event behind those of its namespace; returns whether it waits now. */
  add(event: WaitingEvent): boolean {
    const namespace = namespaceOf(event);
    const its = getOrMake(this.#namespaces, namespace, () => new Map<string, WaitingEvent>());
    if (its.has(event.name)) return true;
    its.set(event.name, event);
    this.#size++;
    if (this.#size > this.#most) this.#dropOne();
    return this.#namespaces.get(namespace)?.has(event.name) ?? false;
  }

  /** Removes a waiting Event; returns whether it waited. */
  delete(name: string): boolean {
    for (const [namespace, its] of this.#namespaces) {
      if (!its.delete(name)) continue;
      this.#size--;
      if (its.size === 0) this.#namespaces.delete(namespace);
      return true;
    }
    return false;
  }

  /** The one whose turn it is, which stays until it is deleted; its namespace's next turn comes after all others'. */
  next(): WaitingEvent | undefined {
    const [first] = this.#namespaces;
    if (first === undefined) return undefined;
    const [namespace, its] = first;
    this.#namespaces.delete(namespace);
    this.#namespaces.set(namespace, its);
    return [...its.values()][0];
  }

  #dropOne(): void {
    const its = largest(this.#namespaces.values(), ({ size }) => size)!;
    this.delete([...its.keys()].at(-1)!);
  }
}

function namespaceOf({ spec: { about } }: WaitingEvent): string {
  return about.namespace ?? '';
}
