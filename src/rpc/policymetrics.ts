/** What the rules of each policy have matched, for Prometheus. */
import { Counter, type Registry } from 'prom-client';
import { PolicySeries } from './policyseries.ts';
import { addCounter } from './risingcounter.ts';
import type { CountsView } from './view.ts';

export function addPolicies(registry: Registry, counts: CountsView): void {
  const series = new PolicySeries();
  new Counter({
    name: 'sluice_policy_packets_total',
    help: 'New connections, and packets that were denied, that a rule of the policy matched; of an isolated pod those that none allowed.',
    labelNames: ['policy', 'direction', 'action'],
    registers: [registry],
    async collect() {
      const totals = await counts.read();
      this.reset();
      for (const { policy, direction, action, packets } of series.samples(totals.values()))
        this.inc({ policy, direction, action }, packets);
    },
  });
  addCounter(
    registry,
    'sluice_policy_counts_unread_total',
    'Chains that were replaced before what they had counted could be read.',
    async () => (await counts.read()).unreadChains,
  );
}
