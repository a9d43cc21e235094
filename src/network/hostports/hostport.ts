/** Ports of the node that lead to a pod, on all of the node's addresses. */

import { parseAddress } from '../../model/address.ts';
import { PROTOCOLS, type Protocol } from '../../model/policy.ts';
import { invalid, shown } from '../attach/request.ts';
import { NetworkError } from '../error.ts';

export interface HostPort {
  readonly protocol: Protocol;
  readonly hostPort: number;
  readonly podPort: number;
}

export interface PortMapping {
  readonly protocol: string;
  readonly hostPort: number;
  readonly containerPort: number;
  readonly hostIP?: string;
}

/** Mappings without a host port map nothing, and are left out. Throws NetworkError that names the field. */
export function hostPorts(mappings: readonly PortMapping[]): HostPort[] {
  return mappings.filter(({ hostPort }) => hostPort !== 0).map(hostPortOf);
}

const EVERYWHERE = new Set(['', '0.0.0.0', '::']);

function hostPortOf(mapping: PortMapping, index: number): HostPort {
  const at = `port mapping ${index}`;
  const protocol = PROTOCOLS.find(name => name === mapping.protocol.toUpperCase());
  if (protocol === undefined)
    throw invalid(`${at}: protocol "${shown(mapping.protocol)}" is none of TCP, UDP, SCTP`);
  for (const [field, port] of [
    ['host port', mapping.hostPort],
    ['container port', mapping.containerPort],
  ] as const)
    if (!Number.isInteger(port) || port < 1 || port > 65535)
      throw invalid(`${at}: ${field} ${port} is no port`);
  const text = mapping.hostIP ?? '';
  const hostAddress = EVERYWHERE.has(text) ? undefined : parseAddress(text);
  if (hostAddress === undefined && !EVERYWHERE.has(text))
    throw invalid(`${at}: host address "${shown(text)}" is no address`);
  if (hostAddress !== undefined)
    throw new NetworkError(
      'unsupported',
      `${at}: a host port on ${hostAddress} alone cannot be made; leave the host address out, or use a Service`,
    );
  return { protocol, hostPort: mapping.hostPort, podPort: mapping.containerPort };
}
