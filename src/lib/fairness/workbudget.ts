/**
 * How much work answers may make, for each pod and each namespace: what is beyond it goes on without being read. The
 * unit is a record that is read, or an element that is told: some microseconds each.
 */
import { type Rate, TokenBucket } from './tokenbucket.ts';

export interface WorkRates {
  readonly pod: Rate;
  readonly namespace: Rate;
}

/** Of a pod's thousand answers a second (control.ts) each may be of four addresses, and have them told. */
const WORK_RATES: WorkRates = {
  pod: { perSecond: 8_000, burst: 16_000 },
  namespace: { perSecond: 32_000, burst: 32_000 },
};

export class WorkBudget<Pod extends string> {
  readonly #namespaceOf: (pod: Pod) => string;
  readonly #rates: WorkRates;
  readonly #accounts = new Map<string, TokenBucket>();

  constructor(namespaceOf: (pod: Pod) => string, rates: WorkRates = WORK_RATES) {
    this.#namespaceOf = namespaceOf;
    this.#rates = rates;
  }

  /** Whether an answer of the pod may be read now, whatever it costs. */
  allows(pod: Pod, nowMs: number): boolean {
    return this.#ofPod(pod).level(nowMs) > 0 && this.#ofNamespace(pod).level(nowMs) > 0;
  }

  /** What it cost may be more than what was left. */
  spend(pod: Pod, units: number, nowMs: number): void {
    this.#ofPod(pod).take(nowMs, units);
    this.#ofNamespace(pod).take(nowMs, units);
  }

  retainOnly(pods: ReadonlySet<Pod>): void {
    const kept = new Set<string>([...pods].flatMap(pod => [pod, this.#namespaceOf(pod)]));
    for (const key of this.#accounts.keys()) if (!kept.has(key)) this.#accounts.delete(key);
  }

  #ofPod(pod: Pod): TokenBucket {
    return this.#accounts.get(pod) ?? this.#open(pod, this.#rates.pod);
  }

  #ofNamespace(pod: Pod): TokenBucket {
    const namespace = this.#namespaceOf(pod);
    return this.#accounts.get(namespace) ?? this.#open(namespace, this.#rates.namespace);
  }

  #open(key: string, rate: Rate): TokenBucket {
    const account = new TokenBucket(rate);
    this.#accounts.set(key, account);
    return account;
  }
}
