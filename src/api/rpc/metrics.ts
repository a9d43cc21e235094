/** The metrics for Prometheus, in base units; counters end in _total. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { AgentStatus } from '../../agent/status.ts';
import { POLICY_STATUSES } from '../../model/policystatus.ts';
import type { DenialsFacts } from '../health/agentchecks.ts';
import { CHECK_NAMES } from '../health/check.ts';
import { addNames } from './namesmetrics.ts';
import { addPolicies } from './policymetrics.ts';
import { addCounter } from './risingcounter.ts';
import type { AgentView, GateView } from './view.ts';

const EVENT_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const STATES = ['ok', 'warn', 'fail', 'unknown'] as const;

export function makeMetrics(view: AgentView): Registry {
  const registry = new Registry();
  const status = () => view.status.status();
  const counter = (name: string, help: string, total: () => number) =>
    addCounter(registry, name, help, total);
  counter('sluice_commits_total', 'Batches committed to the kernel.', () => status().totals.commits);
  counter(
    'sluice_commit_failures_total',
    'Attempts that left the old rules in force.',
    () => status().totals.failures,
  );
  counter(
    'sluice_operations_total',
    'Operations of all committed batches.',
    () => status().totals.operations,
  );
  counter(
    'sluice_drift_repairs_total',
    'Foreign changes of our tables that were repaired.',
    () => status().totals.drifts,
  );
  counter(
    'sluice_connections_cut_total',
    'Live connections cut because policy denies them now.',
    () => view.liveConnections?.counts.cut ?? 0,
  );
  counter(
    'sluice_watch_restarts_total',
    'How often a source could be read again after it could not.',
    () => view.status.watchRestarts,
  );
  addLatency(registry, view);
  addGate(registry, view.gate);
  addNames(registry, () => view.dns.totals());
  addDenials(registry, view);
  if (view.counts !== undefined) addPolicies(registry, view.counts);
  addAudits(registry, view);
  addGauges(registry, status);
  addHealth(registry, view);
  addProcess(registry);
  return registry;
}

function addLatency(registry: Registry, { status }: AgentView): void {
  new Histogram({
    name: 'sluice_event_to_kernel_seconds',
    help: 'Time from an event until the kernel holds what it means.',
    buckets: EVENT_BUCKETS,
    registers: [registry],
    collect() {
      for (const { ms, events } of status.takeAges()) {
        for (let i = 0; i < events; i++) this.observe(ms / 1000);
      }
    },
  });
}

function addGate(registry: Registry, gate: GateView): void {
  new Counter({
    name: 'sluice_pod_starts_total',
    help: 'Pods that started through the gate: with their rules in force, before them, or with no address reported.',
    labelNames: ['rules'],
    registers: [registry],
    collect() {
      this.reset();
      this.inc({ rules: 'in_force' }, gate.counts.inTime);
      this.inc({ rules: 'late' }, gate.counts.late);
      this.inc({ rules: 'no_address' }, gate.counts.withoutAddress);
    },
  });
  new Histogram({
    name: 'sluice_pod_start_wait_seconds',
    help: 'How long the runtime waited for the rules of a pod that starts.',
    buckets: EVENT_BUCKETS,
    registers: [registry],
    collect() {
      for (const ms of gate.takeWaits()) this.observe(ms / 1000);
    },
  });
}

function addGauges(registry: Registry, status: () => AgentStatus): void {
  new Gauge({
    name: 'sluice_reconcile_lag_seconds',
    help: 'Age of the oldest event that is on its way into the kernel; 0 where there is none.',
    registers: [registry],
    collect() {
      this.set(status().lagMs / 1000);
    },
  });
  new Gauge({
    name: 'sluice_waiting_seconds',
    help: 'Age of the oldest change that waits for its turn, of pods or policies; 0 where none does.',
    registers: [registry],
    collect() {
      const { waitingMs, waitingPoliciesMs } = status();
      this.set(Math.max(waitingMs, waitingPoliciesMs) / 1000);
    },
  });
  new Gauge({
    name: 'sluice_waiting_policies',
    help: 'Policies whose changes wait for their turn: their last version is in force, or they isolate.',
    registers: [registry],
    collect() {
      this.set(status().waitingPolicies);
    },
  });
  new Gauge({
    name: 'sluice_waiting_pods',
    help: 'Pods whose changes wait for a later commit; the rules have them as they were.',
    registers: [registry],
    collect() {
      this.set(status().waitingPods);
    },
  });
  new Gauge({
    name: 'sluice_objects',
    help: 'Objects of the cluster that the agent knows.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const [kind, count] of Object.entries(status().objects)) this.set({ kind }, count);
    },
  });
  new Gauge({
    name: 'sluice_quarantined_policies',
    help: 'Policies whose rules the kernel refuses, or for which there is no room: they isolate, or their last good version is in force.',
    registers: [registry],
    collect() {
      this.set(status().quarantined.length);
    },
  });
  new Gauge({
    name: 'sluice_policies',
    help: 'Policies that are not in force as they were written, by what has become of them.',
    labelNames: ['status'],
    registers: [registry],
    collect() {
      for (const kind of POLICY_STATUSES) this.set({ status: kind }, 0);
      for (const { kind } of status().policies) this.inc({ status: kind });
    },
  });
  new Gauge({
    name: 'sluice_problems',
    help: 'Problems of objects, by the kind of the object.',
    labelNames: ['kind', 'severity'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { object, severity } of status().problems) {
        this.inc({ kind: object?.split(' ')[0] ?? 'file', severity });
      }
    },
  });
}

function addHealth(registry: Registry, view: AgentView): void {
  new Gauge({
    name: 'sluice_ready',
    help: '1 while the pod network of the node is ready.',
    registers: [registry],
    async collect() {
      this.set((await view.health()).ready ? 1 : 0);
    },
  });
  new Gauge({
    name: 'sluice_check',
    help: '1 for the state that the check is in.',
    labelNames: ['check', 'state'],
    registers: [registry],
    async collect() {
      const health = await view.health();
      for (const check of CHECK_NAMES) {
        const found = health.checks.find(({ name }) => name === check)?.state;
        for (const state of STATES) this.set({ check, state }, state === found ? 1 : 0);
      }
    },
  });
}

/** The few of prom-client's own that cost nothing at rest: its event loop monitor wakes the process all the time. */
function addProcess(registry: Registry): void {
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  const startedAtMs = Date.now() - process.uptime() * 1000;
  gauge('process_start_time_seconds', 'Start of the process, since 1970.', () => startedAtMs / 1000);
  gauge('process_resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage.rss());
  gauge('nodejs_heap_size_used_bytes', 'Memory of live objects.', () => process.memoryUsage().heapUsed);
  addCounter(registry, 'process_cpu_seconds_total', 'CPU time of the process.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
}

/** Metrics of audited policies: only of those that are judged, because their number is bounded. */
function addAudits(registry: Registry, { audits }: AgentView): void {
  new Gauge({
    name: 'sluice_audited_connections',
    help: 'Connections of this node that an audited policy would have denied, or allowed, since it is audited as it is.',
    labelNames: ['policy', 'would'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { policy, wouldDeny, wouldAllow } of audits.totals) {
        this.set({ policy, would: 'deny' }, wouldDeny);
        this.set({ policy, would: 'allow' }, wouldAllow);
      }
    },
  });
  addCounter(
    registry,
    'sluice_audited_connections_unjudged_total',
    'Connections that came faster than audited policies may be judged.',
    () => audits.unjudged,
  );
}

/** Metrics of denied connections. */
function addDenials(registry: Registry, { denials }: AgentView): void {
  const counter = (name: string, help: string, count: (facts: DenialsFacts) => number) =>
    addCounter(registry, name, help, async () => count(await denials.facts()));
  counter('sluice_denied_packets_total', 'Packets that the rules denied.', ({ denied }) => denied);
  counter(
    'sluice_denied_packets_named_total',
    'Denied packets within the limits, handed over to be named.',
    ({ handed }) => handed,
  );
  counter(
    'sluice_denied_packets_unread_total',
    'Packets that were handed over, and not read in time, or not to be read.',
    ({ lost }) => lost,
  );
  counter(
    'sluice_denied_connections_total',
    'Denied connection attempts that were named.',
    ({ attempts }) => attempts,
  );
}
