/** What of audited policies Prometheus scrapes: of those that are judged, which are bounded in number. */
import { Gauge, type Registry } from 'prom-client';
import { addCounter } from './risingcounter.ts';
import type { AgentView } from './view.ts';

export function addAudits(registry: Registry, { audits }: AgentView): void {
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
