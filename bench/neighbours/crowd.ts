/** Connections that a hostile tenant's own pods have, to the end of the world. */
import { parseAddress } from '../../src/model/address.ts';
import type { TrackedConnection } from '../trackedconnection.ts';
import { HOSTILE_ADDRESS, HOSTILE_ADDRESSES } from './population.ts';

/** The network to which all these connections lead. */
export const WORLD = '172.16.0.0/12';
const SERVICE = { address: parseAddress('10.96.0.80')!, port: 80 };

/** Packets without an answer. */
export function oneWayPackets(count: number): TrackedConnection[] {
  return Array.from({ length: count }, (_, i) => ({
    from: HOSTILE_ADDRESS,
    sourcePort: 1024 + (i % 50_000),
    to: outside(i),
    port: 1000 + (i % 200),
    protocol: 'UDP',
  }));
}

/** Answered and not, of every protocol that has a state, some by a Service; no two to the same end. */
export function connectionsOfAllKinds(count: number): TrackedConnection[] {
  return Array.from({ length: count }, (_, i) => ({
    from: HOSTILE_ADDRESSES[i % HOSTILE_ADDRESSES.length]!,
    sourcePort: 1024 + (i % 60_000),
    to: outside(i),
    port: 1000 + (i % 30_000),
    ...KINDS[i % KINDS.length]!,
  }));
}

type Kind = Pick<TrackedConnection, 'protocol' | 'replied' | 'dialled'>;

const KINDS: readonly Kind[] = [
  { protocol: 'TCP' },
  { protocol: 'TCP', replied: false },
  { protocol: 'UDP', replied: true },
  { protocol: 'UDP' },
  { protocol: 'SCTP', replied: true },
  { protocol: 'ICMP' },
  { protocol: 'TCP', dialled: SERVICE },
];

function outside(i: number) {
  return parseAddress(`172.${16 + ((i >> 16) & 15)}.${(i >> 8) & 255}.${i & 255}`)!;
}
