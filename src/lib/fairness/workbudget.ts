/**
 * How much work DNS answers may cause, for each pod and each namespace: answers beyond it are delivered without being
 * read. The unit is a record that is read or a set element that is added: some microseconds each.
 */

import type { Rate } from './rates.ts';
import { KeyedRates } from './rates.ts';

export interface WorkRates {
  readonly pod: Rate;
  readonly namespace: Rate;
}

/** A pod may get a thousand answers a second (control.ts), each with four addresses, all of which become elements. */
const WORK_RATES: WorkRates = {
  pod: { perSecond: 8_000, burst: 16_000 },
  namespace: { perSecond: 32_000, burst: 32_000 },
};

export class WorkBudget<Pod extends string> {
  readonly #namespaceOf: (pod: Pod) => string;
  readonly #pods: KeyedRates;
  readonly #namespaces: KeyedRates;

  constructor(namespaceOf: (pod: Pod) => string, { pod, namespace }: WorkRates = WORK_RATES) {
    this.#namespaceOf = namespaceOf;
    this.#pods = new KeyedRates(pod);
    this.#namespaces = new KeyedRates(namespace);
  }

  /** Whether an answer to the pod may be read now, whatever it costs. */
  allows(pod: Pod, nowMs: number): boolean {
    return this.#pods.level(pod, nowMs) > 0 && this.#namespaces.level(this.#namespaceOf(pod), nowMs) > 0;
  }

  /** Takes the cost of an answer from the budget of its pod and namespace. It may exceed what is left. */
  spend(pod: Pod, units: number, nowMs: number): void {
    this.#pods.take(pod, nowMs, units);
    this.#namespaces.take(this.#namespaceOf(pod), nowMs, units);
  }

  retainOnly(pods: ReadonlySet<Pod>): void {
    this.#pods.retainOnly(pods);
    this.#namespaces.retainOnly(new Set([...pods].map(this.#namespaceOf)));
  }
}
