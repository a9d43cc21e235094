/** Verdicts that no storm may change: one port of UDP is open between the firm pods, and every other is closed. */
import { address } from '../../../bench/lab/topology.ts';
import { arrivals, type Trail } from '../../support/packets/prober.ts';
import type { Manifest } from './api.ts';
import { namespace, networkPolicy, node, pod } from './objects.ts';

export const NODE = 'n1';
export const OTHER_NODE = 'n2';

/** `doomed/d` can only be sent to: its namespace may be deleted while it runs. */
export const HOSTS = {
  'probe/x': [address('10.0.1.201'), address('fd00::1:201')],
  'probe/t': [address('10.0.1.203'), address('fd00::1:203')],
  'doomed/d': [address('10.0.1.204'), address('fd00::1:204')],
} as const;

/** Carried by the namespaces whose pods a storm leaves alone, so that policies of the cluster can do so too. */
export const FIRM_LABELS = { firm: 'yes' } as const;

const OPEN = 2222;
const CLOSED = 1111;

export const FIRM_FLOWS = ([0, 1] as const).flatMap(family => {
  const [x, t, d] = [HOSTS['probe/x'][family], HOSTS['probe/t'][family], HOSTS['doomed/d'][family]];
  return [
    { from: x, to: t, port: OPEN },
    { from: x, to: t, port: CLOSED },
    { from: x, to: d, port: CLOSED },
  ];
});

export function firmObjects(): Manifest[] {
  return [
    node(NODE, '172.18.0.11'),
    node(OTHER_NODE, '172.18.0.12'),
    namespace('probe', FIRM_LABELS),
    namespace('doomed', FIRM_LABELS),
    ...Object.entries(HOSTS).map(([key, ips]) => pod(key, { node: NODE, ips })),
    networkPolicy('probe/firm', { podSelector: {}, policyTypes: ['Ingress'], ingress: [OPEN_IN_PROBE] }),
    networkPolicy('doomed/closed', { podSelector: {}, policyTypes: ['Ingress'] }),
  ];
}

const OPEN_IN_PROBE = { from: [{ podSelector: {} }], ports: [{ protocol: 'UDP', port: OPEN }] };

/** In words: packets that arrived where none may, and those that did not where all have to. */
export function wrongPackets(trails: readonly Trail[]): string[] {
  return trails.flatMap((trail, index) => {
    const { from, to, port } = FIRM_FLOWS[index]!;
    const expected = port === OPEN ? trail.sent : 0;
    const runs = JSON.stringify(trail.arrived.slice(0, 5));
    if (trail.sent > 0 && arrivals(trail) === expected) return [];
    return [`${from} -> ${to}:${port}: ${arrivals(trail)} of ${trail.sent} arrived, in runs ${runs}`];
  });
}
