/**
 * Keeps one condition of a node up to date. A write that the server refuses is retried with growing delays; a newer
 * value replaces the older one and is written at once.
 */

import { aborted } from '../../../lib/async/aborted.ts';
import { type Backoff, backoffMs, jitteredMs } from '../../../lib/async/backoff.ts';
import type { Timing } from '../../../lib/async/timing.ts';
import { errorText } from '../../../lib/text/errortext.ts';
import type { Patcher } from '../client/api.ts';

export interface ConditionWriterOptions {
  readonly api: Patcher;
  readonly node: string;
  readonly timing: Timing;
  readonly now?: () => Date;
  /** Called at the first failure of a row. */
  readonly onTrouble: (reason: string) => void;
}

const RETRY: Backoff = { firstMs: 200, mostMs: 10_000 };

interface Wanted {
  readonly unavailable: Unavailable | undefined;
  readonly since: Date;
}

export class ConditionWriter {
  readonly #options: Required<ConditionWriterOptions>;
  #wanted: Wanted | undefined;
  #written: Wanted | undefined;
  #failures = 0;
  #changed = new AbortController();

  constructor(options: ConditionWriterOptions) {
    this.#options = { now: () => new Date(), ...options };
  }

  /** Sets the condition to write; undefined: the network is available. Returns at once. */
  set(unavailable: Unavailable | undefined): void {
    const before = this.#wanted;
    const isSame = before !== undefined && isEqual(before.unavailable, unavailable);
    if (isSame) return;
    const hasTurned = (before?.unavailable === undefined) !== (unavailable === undefined);
    const since = before === undefined || hasTurned ? this.#options.now() : before.since;
    this.#wanted = { unavailable, since };
    this.#failures = 0;
    this.#changed.abort();
  }

  /** Writes the condition until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { sleep, random } = this.#options.timing;
    while (!signal.aborted) {
      this.#changed = new AbortController();
      const either = AbortSignal.any([signal, this.#changed.signal]);
      if (this.#wanted === this.#written) await aborted(either);
      else if (!(await this.#write(signal)))
        await sleep(jitteredMs(backoffMs(RETRY, this.#failures), random()), either);
    }
  }

  /** Whether the server has it. */
  async #write(signal: AbortSignal): Promise<boolean> {
    const { api, node, now, onTrouble } = this.#options;
    const wanted = this.#wanted!;
    try {
      await api.patch(nodeStatusPath(node), conditionPatch(wanted.unavailable, wanted.since, now()), signal);
      this.#written = wanted;
      this.#failures = 0;
      return true;
    } catch (error) {
      if (!signal.aborted && ++this.#failures === 1) onTrouble(errorText(error));
      return false;
    }
  }
}

function isEqual(a: Unavailable | undefined, b: Unavailable | undefined): boolean {
  return a?.reason === b?.reason && a?.message === b?.message;
}

/**
 * The condition that says whether a node's network takes further pods. From `NetworkUnavailable` the controller manager
 * makes the taint node.kubernetes.io/network-unavailable:NoSchedule, which keeps new pods away and does not affect
 * running ones; hostNetwork pods of DaemonSets tolerate it.
 */

/** The reason, as a CamelCase word and as a sentence. */
export interface Unavailable {
  readonly reason: string;
  readonly message: string;
}

const NETWORK_UNAVAILABLE = 'NetworkUnavailable';
/** NodeCondition.message has no documented limit; kubectl shows it in one line. */
const LONGEST = 1024;

function nodeStatusPath(node: string): string {
  return `/api/v1/nodes/${encodeURIComponent(node)}/status`;
}

/** A strategic merge patch: other conditions stay as they are. Undefined: the network is available. */
export function conditionPatch(unavailable: Unavailable | undefined, since: Date, at: Date): object {
  const { reason, message } = unavailable ?? { reason: 'PodNetworkReady', message: 'Sluice attaches pods' };
  const condition = {
    type: NETWORK_UNAVAILABLE,
    status: unavailable === undefined ? 'False' : 'True',
    reason,
    message: message.slice(0, LONGEST),
    lastTransitionTime: timeText(since),
    lastHeartbeatTime: timeText(at),
  };
  return { status: { conditions: [condition] } };
}

/** metav1.Time has whole seconds. */
function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}
