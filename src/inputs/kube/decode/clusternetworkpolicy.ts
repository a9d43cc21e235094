import type { ClusterEvent } from '../../../model/cluster.ts';
import type { PortMatch, Protocol, Tier } from '../../../model/policy.ts';
import { type Dialect, decodeClusterPolicy, readNamedPort, readPriority } from './clusterpolicy.ts';
import type { Field } from './fields.ts';

/** policy.networking.k8s.io/v1beta1 and v1alpha2. */
export function decodeClusterNetworkPolicy(object: Field): ClusterEvent | undefined {
  return decodeClusterPolicy(object, DIALECT);
}

const DIALECT: Dialect = {
  kind: 'ClusterNetworkPolicy',
  specKeys: ['tier', 'priority'],
  readTier: spec => readTier(spec.get('tier')),
  readOrder: readPriority,
  actions: { Accept: 'accept', Deny: 'deny', Pass: 'pass' },
  egressPeers: ['namespaces', 'pods', 'nodes', 'networks', 'domainNames'],
  portsKey: 'protocols',
  readPort: readProtocol,
  needsNamespaceSelector: false,
  most: 25,
};

const TIERS = { Admin: 'admin', Baseline: 'baseline' } as const;

function readTier(tier: Field): Tier {
  if (!tier.isPresent) tier.error('is missing');
  return TIERS[tier.oneOf(['Admin', 'Baseline']) ?? 'Admin'];
}

const PROTOCOL_KEYS = { tcp: 'TCP', udp: 'UDP', sctp: 'SCTP' } as const;

/** C24, C27. */
function readProtocol(field: Field): PortMatch {
  const key = field.onlyKey(['tcp', 'udp', 'sctp', 'destinationNamedPort']);
  if (key === undefined) return { kind: 'protocol', protocol: 'TCP' };
  const part = field.get(key);
  if (key === 'destinationNamedPort') return readNamedPort(part);
  // 4.13: `tcp: {}` may be a field of a later version that was lost on the way; all of TCP is a range.
  const isWhole = part.onlyKey(['destinationPort']) !== undefined;
  const protocol = PROTOCOL_KEYS[key];
  return isWhole
    ? readDestinationPort(part.get('destinationPort'), protocol)
    : { kind: 'protocol', protocol };
}

function readDestinationPort(port: Field, protocol: Protocol): PortMatch {
  const key = port.onlyKey(['number', 'range']);
  if (key === undefined) return { kind: 'protocol', protocol };
  if (key === 'range') return { kind: 'range', protocol, ...readRange(port.get(key)) };
  const number = port.get(key).integer(1, 65535) ?? 0;
  return { kind: 'range', protocol, first: number, last: number };
}

function readRange(range: Field): { first: number; last: number } {
  range.expectMap(['start', 'end']);
  const first = range.get('start').requiredInteger(1, 65535) ?? 0;
  const last = range.get('end').requiredInteger(1, 65535) ?? 0;
  if (first > 0 && last > 0 && first >= last) range.error(`must end after its start ${first}`);
  return { first, last };
}
