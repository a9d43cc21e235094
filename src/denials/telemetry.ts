/**
 * A denied connection as a log record of OpenTelemetry: attributes of its semantic conventions where there are some
 * (source.*, destination.*, network.*), and else `sluice.*`.
 */
import { familyOf } from '../model/address.ts';
import type { Denial, DenialEnd } from './denial.ts';
import { connectionText } from './lines.ts';

export interface DenialRecord {
  readonly eventName: 'sluice.denied';
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

export function denialRecord(denial: Denial): DenialRecord {
  const { atMs, from, to, protocol, sourcePort, port, service, cause } = denial;
  const attributes = {
    ...endAttributes('source', from, sourcePort),
    ...endAttributes('destination', to, port),
    'network.transport': String(protocol).toLowerCase(),
    'network.type': familyOf(from.address) === 'ip' ? 'ipv4' : 'ipv6',
    'sluice.service': service && (service.name ?? service.address),
    'sluice.cause': cause.kind,
    'sluice.direction': cause.direction,
    'sluice.tier': cause.tier,
    'sluice.policy': cause.policy,
    'sluice.rule': cause.rule,
  };
  const body = `${connectionText(denial)}: ${cause.reason}`;
  return { eventName: 'sluice.denied', timestamp: atMs, body, attributes: known(attributes) };
}

type Attributes = Readonly<Record<string, string | number | undefined>>;

function endAttributes(
  name: string,
  { address, pod, node }: DenialEnd,
  port: number | undefined,
): Attributes {
  return {
    [`${name}.address`]: address,
    [`${name}.port`]: port,
    [`sluice.${name}.pod`]: pod,
    [`sluice.${name}.node`]: node,
  };
}

function known(attributes: Attributes): Record<string, string | number> {
  const entries = Object.entries(attributes).filter(
    (entry): entry is [string, string | number] => entry[1] !== undefined,
  );
  return Object.fromEntries(entries);
}
