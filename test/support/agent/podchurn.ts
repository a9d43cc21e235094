/**
 * A runtime that asks an agent by KNI to attach pods and to detach them, at random, several at a time, and writes down
 * what it was answered. The agent may be killed at any moment: what was asked and not answered may be in either state.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceError } from '@grpc/grpc-js';
import { type KniClient, message } from '../pods/kniclient.ts';

/** A place in which pods come and go, one after the other. */
export interface Place {
  /** The path of a network namespace that outlives its pods. */
  readonly path: string;
  /** Host port of the pod that is here. */
  readonly hostPort?: number;
  /** The pod that is here, or may be. A pod, its sandbox and `pods` use the same name. */
  occupant?: string;
}

const WORKERS = 8;
/** How often a pod that is there is asked for again. */
const AGAIN = 0.2;
const UNAVAILABLE = 14;
/** Pause after an answer that asks for a retry. */
const RETRY_MS = 100;

export class PodChurn {
  /** The addresses that were answered last for each pod; none where it is gone. */
  readonly answered = new Map<string, readonly string[]>();
  /** Asked about, and not answered yet. */
  readonly unsure = new Set<string>();
  /** How many answers there were. */
  answers = 0;
  #pods = 0;
  readonly #places: readonly Place[];

  constructor(places: readonly Place[]) {
    this.#places = places;
  }

  /** How many pods were asked for. */
  get pods(): number {
    return this.#pods;
  }

  /** Pods that are attached for certain, and their places. */
  attached(): { readonly pod: string; readonly place: Place; readonly addresses: readonly string[] }[] {
    return this.#places.flatMap(place => {
      const { occupant: pod = '' } = place;
      const addresses = this.answered.get(pod) ?? [];
      return this.unsure.has(pod) || addresses.length === 0 ? [] : [{ pod, place, addresses }];
    });
  }

  /** Runs until the signal, and until every request has ended. Throws if an answer is wrong. */
  async run(kni: KniClient, signal: AbortSignal): Promise<void> {
    // Each worker has its own places, so that answers about one place come in order.
    const workers = Array.from({ length: WORKERS }, async (_, worker) => {
      const mine = this.#places.filter((_, index) => index % WORKERS === worker);
      while (!signal.aborted) await this.#step(kni, mine[Math.floor(Math.random() * mine.length)]!, signal);
    });
    await Promise.all(workers);
  }

  async detachAll(kni: KniClient): Promise<void> {
    for (const place of this.#places) if (place.occupant !== undefined) await this.#detach(kni, place);
  }

  async #step(kni: KniClient, place: Place, signal: AbortSignal): Promise<void> {
    const leaves = place.occupant !== undefined && Math.random() >= AGAIN;
    try {
      await (leaves ? this.#detach(kni, place) : this.#attach(kni, place));
    } catch (error) {
      if ((error as ServiceError).code !== UNAVAILABLE && !signal.aborted) throw error;
      await sleep(RETRY_MS);
    }
  }

  async #attach(kni: KniClient, place: Place): Promise<void> {
    place.occupant ??= `p${this.#pods++}`;
    const pod = place.occupant;
    const before = this.unsure.has(pod) ? [] : (this.answered.get(pod) ?? []);
    this.unsure.add(pod);
    const { path, hostPort } = place;
    const port = [
      [2, 80],
      [3, hostPort ?? 0],
    ] as const;
    const more = hostPort === undefined ? [] : [[6, message(port)] as const];
    const { eth0 } = await kni.attach({ name: pod, namespace: 'shop', id: pod, path, more });
    if (before.length > 0 && before.join() !== eth0!.ip.join())
      throw new Error(`${pod} had ${before}, and has ${eth0!.ip} when it is asked for again`);
    this.#answer(pod, eth0!.ip);
  }

  async #detach(kni: KniClient, place: Place): Promise<void> {
    const pod = place.occupant!;
    this.unsure.add(pod);
    await kni.detach({ name: pod, namespace: 'shop', id: pod });
    this.#answer(pod, []);
    delete place.occupant;
  }

  #answer(pod: string, addresses: readonly string[]): void {
    this.unsure.delete(pod);
    this.answered.set(pod, addresses);
    this.answers++;
  }
}
