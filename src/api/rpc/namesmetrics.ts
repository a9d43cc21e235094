/** Metrics of peers by name. Their labels are ours alone: no name, no address and no pod is one. */
import { Counter, Gauge, type Metric, type Registry } from 'prom-client';
import { addCounter } from './risingcounter.ts';

/** Totals of the present thread that reads DNS answers: a new thread starts at zero. */
export interface DnsTotals {
  /** How often such a thread ended. */
  readonly restarts: number;
  /** The upper bounds of the buckets in which `waits` counts. */
  readonly waitBucketsUs: readonly number[];
  readonly counts?: DnsCounts;
}

interface DnsCounts {
  readonly learnt: number;
  readonly passed: number;
  readonly unread: number;
  readonly overBudget: number;
  readonly untaken: number;
  readonly evicted: number;
  readonly overruns: number;
  readonly addresses: number;
  readonly isQueueing: boolean;
  /** How many waited at most as long as each of `waitBucketsUs`, and at last those that waited longer. */
  readonly waits: readonly number[];
  readonly waitedUs: number;
}

export function addNames(registry: Registry, totals: () => DnsTotals): void {
  const of = (count: (counts: DnsCounts) => number) => {
    const { counts } = totals();
    return counts === undefined ? 0 : count(counts);
  };
  addAnswers(registry, totals);
  const counter = (name: string, help: string, total: () => number) =>
    addCounter(registry, name, help, total);
  counter('sluice_names_evictions_total', 'Addresses that went because there were too many.', () =>
    of(({ evicted }) => evicted),
  );
  counter(
    'sluice_names_over_budget_total',
    'Answers that went on unread because their pod or its namespace had more than its share.',
    () => of(({ overBudget }) => overBudget),
  );
  counter('sluice_names_untaken_total', 'Elements that the kernel did not take.', () =>
    of(({ untaken }) => untaken),
  );
  counter(
    'sluice_names_overruns_total',
    'Times answers were passed on unread because the agent was too slow.',
    () => of(({ overruns }) => overruns),
  );
  counter(
    'sluice_names_restarts_total',
    'Threads that ended while they read answers.',
    () => totals().restarts,
  );
  addGauge(registry, 'sluice_names_addresses', 'Addresses that are allowed by name.', () =>
    of(({ addresses }) => addresses),
  );
  addGauge(registry, 'sluice_names_hearing', '1 while answers wait.', () =>
    of(({ isQueueing }) => Number(isQueueing)),
  );
  registry.registerMetric(waitHistogram(totals) as unknown as Metric<string>);
}

function addAnswers(registry: Registry, totals: () => DnsTotals): void {
  new Counter({
    name: 'sluice_names_answers_total',
    help: 'DNS answers that were read: learnt, of no use to a rule (passed), or not understood (unread).',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      const { learnt = 0, passed = 0, unread = 0 } = totals().counts ?? {};
      this.reset();
      for (const [outcome, count] of Object.entries({ learnt, passed, unread })) this.inc({ outcome }, count);
    },
  });
}

function addGauge(registry: Registry, name: string, help: string, value: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value());
    },
  });
}

/** Counted elsewhere, in buckets already: prom-client's own takes one value at a time. */
function waitHistogram(totals: () => DnsTotals) {
  const bucketsUs = totals().waitBucketsUs;
  const name = 'sluice_names_answer_wait_seconds';
  const metric = {
    name,
    help: 'How long answers waited since they were fetched from the kernel.',
    type: 'histogram',
  };
  return {
    ...metric,
    reset() {},
    async get() {
      const { waits = [], waitedUs = 0 } = totals().counts ?? {};
      return { ...metric, aggregator: 'sum', values: samplesOf(name, bucketsUs, waits, waitedUs) };
    },
  };
}

function samplesOf(name: string, bucketsUs: readonly number[], waits: readonly number[], waitedUs: number) {
  const bounds = [...bucketsUs.map(us => us / 1e6), '+Inf' as const];
  let sum = 0;
  const buckets = bounds.map((le, i) => {
    sum += waits[i] ?? 0;
    return { metricName: `${name}_bucket`, labels: { le }, value: sum };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: {}, value: waitedUs / 1e6 },
    { metricName: `${name}_count`, labels: {}, value: sum },
  ];
}
