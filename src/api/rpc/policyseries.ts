/**
 * The packets that the rules of each policy have matched, as a bounded number of series. A policy in force has its own
 * series as long as there is room. If there is none, room is made by series of policies that are gone, and then by
 * series of the namespaces that have most. Within a namespace, policies keep the series that they have, and others get
 * one in the order of their names: so after a restart the same policies have one, unless policies were added or
 * deleted. All other policies share one series, to which only increases are added: it never falls when a policy joins
 * or leaves it.
 */
import { COMMENT_BYTES } from '../../compiler/names.ts';
import { firstOfEach } from '../../lib/fairness/firstofeach.ts';
import type { CountedTotal } from './view.ts';

/** Policies with series of their own. */
const MOST_POLICIES = 500;
const OTHERS = 'others';

export interface PolicySample {
  readonly policy: string;
  readonly direction: CountedTotal['direction'];
  readonly action: CountedTotal['action'];
  readonly packets: number;
}

export class PolicySeries {
  readonly #most: number;
  #own: ReadonlySet<string> = new Set();
  #leftOut: ReadonlyMap<string, number> = new Map();
  /** The value of each total at the last look. */
  #before = new Map<string, number>();
  readonly #others = new Sums();

  constructor(most = MOST_POLICIES) {
    this.#most = most;
  }

  /** By namespace, how many policies in force have no series; under '' those of the whole cluster. */
  get leftOut(): ReadonlyMap<string, number> {
    return this.#leftOut;
  }

  /** All series with their present values. */
  samples(totals: Iterable<CountedTotal>): PolicySample[] {
    const named = Array.from(totals, total => ({ total, policies: policiesIn(total.source) }));
    this.#share(new Set(named.flatMap(({ total, policies }) => (total.isInForce ? policies : []))));
    const own = new Sums();
    const now = new Map<string, number>();
    for (const { total, policies } of named) {
      const key = `${total.direction} ${total.action} ${total.source}`;
      now.set(key, total.packets);
      const more = risen(this.#before.get(key), total.packets);
      for (const policy of policies)
        if (this.#own.has(policy)) own.add(policy, total, total.packets);
        else if (more > 0) this.#others.add(OTHERS, total, more);
    }
    this.#before = now;
    return [...own.samples(), ...this.#others.samples()];
  }

  /** A deleted policy keeps its series until one in force needs the place; the oldest is dropped first. */
  #share(sources: ReadonlySet<string>): void {
    const inForce = new Set([...sources].filter(policy => policy !== OTHERS));
    const chosen = this.#chosen(inForce);
    const gone = [...this.#own].filter(policy => !inForce.has(policy));
    const room = this.#most - chosen.size;
    const kept = [...this.#own].filter(policy => chosen.has(policy));
    this.#own = new Set([...(room > 0 ? gone.slice(-room) : []), ...kept, ...chosen]);
    const without = [...inForce].filter(policy => !chosen.has(policy));
    this.#leftOut = new Map(
      Array.from(Map.groupBy(without, namespaceOfLabel), ([namespace, { length }]) => [namespace, length]),
    );
  }

  #chosen(inForce: ReadonlySet<string>): ReadonlySet<string> {
    if (inForce.size <= this.#most) return inForce;
    const rank = (policy: string) => (this.#own.has(policy) ? 0 : 1);
    const ranked = [...inForce].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
    const groups = [...Map.groupBy(ranked, namespaceOfLabel)].sort(([a], [b]) => (a < b ? -1 : 1));
    return new Set(
      firstOfEach(
        groups.map(([, its]) => its),
        this.#most,
        rank,
      ),
    );
  }
}

/** Empty for policies of the whole cluster; as rules name them: `shop/web`, `cnp:guard`. */
export function namespaceOfLabel(policy: string): string {
  return policy.includes(':') ? '' : policy.slice(0, Math.max(0, policy.indexOf('/')));
}

/** A total that is smaller than before has started at zero again. */
function risen(before = 0, now: number): number {
  return now >= before ? now - before : now;
}

class Sums {
  readonly #sums = new Map<string, PolicySample>();

  add(policy: string, { direction, action }: CountedTotal, packets: number): void {
    const key = `${policy} ${direction} ${action}`;
    const sum = (this.#sums.get(key)?.packets ?? 0) + packets;
    this.#sums.set(key, { policy, direction, action, packets: sum });
  }

  samples(): Iterable<PolicySample> {
    return this.#sums.values();
  }
}

/**
 * `shop/web ingress[0], shop/api ingress[1] and 7 more`: a rule of the kernel that several policies share matched for each
 * of them. Those that a comment has no room for are counted together.
 */
export function policiesIn(source: string): string[] {
  const isCut = source.length >= COMMENT_BYTES;
  const [, listed = '', more] = /^(?:isolated by )?(.*?)( and \d+ more)?$/.exec(source) ?? [];
  const names = listed.split(', ').map(each => each.split(' ')[0] ?? '');
  const whole = isCut && names.length > 1 ? names.slice(0, -1) : names;
  const named = whole.filter(name => /[/:]/.test(name));
  return [...new Set([...named, ...(isCut || more !== undefined ? [OTHERS] : [])])];
}
