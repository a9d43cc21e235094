/**
 * Keeps one condition of a node as it should be. What the server does not take is tried again, each time later; what
 * has changed meanwhile goes out at once, and the older word never.
 */

import { aborted } from '../../../lib/async/aborted.ts';
import { type Backoff, backoffMs, jitteredMs } from '../../../lib/async/backoff.ts';
import type { Timing } from '../../../lib/async/timing.ts';
import { errorText } from '../../../lib/text/errortext.ts';
import type { Patcher } from '../client/api.ts';
import { conditionPatch, nodeStatusPath, type Unavailable } from './nodecondition.ts';

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

  /** Never waits. Undefined: the network is available. */
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

  /** Until the signal. */
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
