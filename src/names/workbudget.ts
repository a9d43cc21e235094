/**
 * How much work answers may make, for each pod and each namespace: what is beyond it goes on without being read. The
 * unit is a record that is read, or an element that is told: some microseconds each.
 */
import { namespaceOfPod, type PodKey } from '../model/cluster.ts';

export interface WorkRate {
  readonly perSecond: number;
  /** At once. */
  readonly burst: number;
}

export interface WorkRates {
  readonly pod: WorkRate;
  readonly namespace: WorkRate;
}

/** Of a pod's thousand answers a second (control.ts) each may be of four addresses, and have them told. */
export const WORK_RATES: WorkRates = {
  pod: { perSecond: 8_000, burst: 16_000 },
  namespace: { perSecond: 32_000, burst: 32_000 },
};

interface Level {
  left: number;
  atMs: number;
}

export class WorkBudget {
  readonly #rates: WorkRates;
  readonly #levels = new Map<string, Level>();

  constructor(rates: WorkRates = WORK_RATES) {
    this.#rates = rates;
  }

  /** Whether an answer of the pod may be read now, whatever it costs. */
  allows(pod: PodKey, nowMs: number): boolean {
    return this.#accounts(pod, nowMs).every(({ left }) => left > 0);
  }

  /** What it cost may be more than what was left. */
  spend(pod: PodKey, units: number, nowMs: number): void {
    for (const account of this.#accounts(pod, nowMs)) account.left -= units;
  }

  retainOnly(pods: ReadonlySet<PodKey>): void {
    const kept = new Set<string>([...pods].flatMap(pod => [pod, namespaceOfPod(pod)]));
    for (const key of this.#levels.keys()) if (!kept.has(key)) this.#levels.delete(key);
  }

  #accounts(pod: PodKey, nowMs: number): [Level, Level] {
    const { pod: ofPod, namespace } = this.#rates;
    return [this.#account(pod, ofPod, nowMs), this.#account(namespaceOfPod(pod), namespace, nowMs)];
  }

  #account(key: string, { perSecond, burst }: WorkRate, nowMs: number): Level {
    const level = this.#levels.get(key) ?? { left: burst, atMs: nowMs };
    this.#levels.set(key, level);
    level.left = Math.min(burst, level.left + ((nowMs - level.atMs) / 1_000) * perSecond);
    level.atMs = nowMs;
    return level;
  }
}
