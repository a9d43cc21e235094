/**
 * Whether flows are denied, of those that were judged last. Each has one place, which the next one that comes there takes:
 * of connections between the same ends, to the same port, there may be thousands, and of others a hundred thousand, which
 * are to cost no more than to be judged.
 */

import { placeOf } from '../../lib/collections/placeof.ts';
import { textHash } from '../../lib/text/texthash.ts';
import type { Flow } from '../../model/flow.ts';

const PLACE_BITS = 12;

export class KnownVerdicts {
  readonly #flows: (Flow | undefined)[] = Array.from({ length: 1 << PLACE_BITS }, () => undefined);
  readonly #denied = new Uint8Array(1 << PLACE_BITS);

  /** Undefined where it is not known. */
  denies(flow: Flow): boolean | undefined {
    const place = placeIn(flow);
    const known = this.#flows[place];
    return known !== undefined && isSame(known, flow) ? this.#denied[place] === 1 : undefined;
  }

  set(flow: Flow, denied: boolean): void {
    const place = placeIn(flow);
    this.#flows[place] = flow;
    this.#denied[place] = denied ? 1 : 0;
  }
}

function isSame(a: Flow, b: Flow): boolean {
  return a.port === b.port && a.protocol === b.protocol && a.from === b.from && a.to === b.to;
}

function placeIn({ from, to, port = 0 }: Flow): number {
  return placeOf(textHash(to, textHash(from, port)), PLACE_BITS);
}
