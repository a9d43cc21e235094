/** The packets that the rules of each policy have matched, for Prometheus. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { type PolicySample, PolicySeries } from './policyseries.ts';
import { addCounter } from './risingcounter.ts';
import type { CountsView } from './view.ts';

export function addPolicies(registry: Registry, counts: CountsView): void {
  const series = new PolicySeries();
  /** The sample of the current scrape: the metrics after this one in the registry use the same. */
  let sampled: Promise<readonly PolicySample[]> = Promise.resolve([]);
  new Counter({
    name: 'sluice_policy_packets_total',
    help: 'New connections, and packets that were denied, that a rule of the policy matched; of an isolated pod those that none allowed.',
    labelNames: ['policy', 'direction', 'action'],
    registers: [registry],
    async collect() {
      sampled = counts.read().then(totals => series.samples(totals.values()));
      const samples = await sampled;
      this.reset();
      for (const { policy, direction, action, packets } of samples)
        this.inc({ policy, direction, action }, packets);
    },
  });
  new Gauge({
    name: 'sluice_policies_without_series',
    help: 'Policies in force that share policy="others", by namespace: those that have most, and all others as "*".',
    labelNames: ['namespace'],
    registers: [registry],
    async collect() {
      await sampled;
      this.reset();
      for (const [namespace, policies] of mostOf(series.leftOut)) this.inc({ namespace }, policies);
    },
  });
  addCounter(
    registry,
    'sluice_policy_counts_unread_total',
    'Chains that were replaced before what they had counted could be read.',
    async () => (await counts.read()).unreadChains,
  );
}

const MOST_NAMESPACES = 10;
/** No namespace has this name. */
const REST = '*';

function mostOf(leftOut: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  const sorted = [...leftOut].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  const rest = sorted.slice(MOST_NAMESPACES).reduce((sum, [, policies]) => sum + policies, 0);
  return [...sorted.slice(0, MOST_NAMESPACES), ...(rest > 0 ? [[REST, rest] as const] : [])];
}
