/**
 * A denied connection as a log record of OpenTelemetry: attributes of its semantic conventions where there are some
 * (source.*, destination.*, network.*), and else `sluice.*`.
 */
import { familyOf } from '../../model/address.ts';
import { type Denial, type DenialEnd, deniersOf } from './denial.ts';
import { connectionText } from './lines.ts';

type Attribute = string | number | string[];

export interface DenialRecord {
  readonly eventName: 'sluice.denied';
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
  readonly attributes: Readonly<Record<string, Attribute>>;
}

export function denialRecord(denial: Denial): DenialRecord {
  const { atMs, from, to, protocol, sourcePort, port, service, cause } = denial;
  const deniers = [...deniersOf(cause)];
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
    'sluice.policies': deniers.length === 0 ? undefined : deniers,
    'sluice.rule': cause.rule,
  };
  const body = `${connectionText(denial)}: ${cause.reason}`;
  return { eventName: 'sluice.denied', timestamp: atMs, body, attributes: known(attributes) };
}

type Attributes = Readonly<Record<string, Attribute | undefined>>;

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

function known(attributes: Attributes): Record<string, Attribute> {
  const entries = Object.entries(attributes).filter(
    (entry): entry is [string, Attribute] => entry[1] !== undefined,
  );
  return Object.fromEntries(entries);
}
