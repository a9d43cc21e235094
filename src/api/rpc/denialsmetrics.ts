/** What of denied connections Prometheus scrapes. */
import type { Registry } from 'prom-client';
import type { DenialsFacts } from '../health/denialscheck.ts';
import { addCounter } from './risingcounter.ts';
import type { AgentView } from './view.ts';

export function addDenials(registry: Registry, { denials }: AgentView): void {
  const counter = (name: string, help: string, count: (facts: DenialsFacts) => number) =>
    addCounter(registry, `sluice_${name}`, help, async () => count(await denials.facts()));
  counter('denied_packets_total', 'Packets that the rules denied.', ({ denied }) => denied);
  counter(
    'denied_packets_named_total',
    'Denied packets within the limits, handed over to be named.',
    ({ handed }) => handed,
  );
  counter(
    'denied_packets_unread_total',
    'Packets that were handed over, and not read in time, or not to be read.',
    ({ lost }) => lost,
  );
  counter(
    'denied_connections_total',
    'Denied connection attempts that were named.',
    ({ attempts }) => attempts,
  );
}
