/** What the rules of each policy have matched, for Prometheus: with as many labels as somebody can look at. */
import { Counter, type Registry } from 'prom-client';
import { COMMENT_BYTES } from '../compiler/names.ts';
import { addCounter } from './risingcounter.ts';
import type { CountsView } from './view.ts';

/** Policies with series of their own; what the others matched is counted together. */
const MOST_POLICIES = 500;
const OTHERS = 'others';

export function addPolicies(registry: Registry, counts: CountsView): void {
  const own = new Set<string>();
  const labelOf = (policy: string) => {
    if (own.size < MOST_POLICIES) own.add(policy);
    return own.has(policy) ? policy : OTHERS;
  };
  new Counter({
    name: 'sluice_policy_packets_total',
    help: 'New connections, and packets that were denied, that a rule of the policy matched; of an isolated pod those that none allowed.',
    labelNames: ['policy', 'direction', 'action'],
    registers: [registry],
    async collect() {
      const totals = await counts.read();
      this.reset();
      for (const { source, direction, action, packets } of totals.values())
        for (const policy of policiesIn(source))
          this.inc({ policy: labelOf(policy), direction, action }, packets);
    },
  });
  addCounter(
    registry,
    'sluice_policy_counts_unread_total',
    'Chains that were replaced before what they had counted could be read.',
    async () => (await counts.read()).unreadChains,
  );
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
