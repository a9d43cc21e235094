/** The connections that the ports of a rule mean. */
import { assertNever } from '../../lib/text/assert.ts';
import type { ContainerPort } from '../../model/cluster.ts';
import { type PortMatch, PROTOCOLS } from '../../model/policy.ts';
import { means, mergePorts, type NumberedPort } from '../../model/ports.ts';
import type { ConnectionPool, Connections } from './connections.ts';
import { togglesOf } from './toggles.ts';

/** `destination` has the container ports that names mean (N29, N30). */
export function portsConnections(
  pool: ConnectionPool,
  ports: 'any' | readonly PortMatch[],
  destination: readonly ContainerPort[],
): Connections {
  if (ports === 'any') return pool.all;
  const { protocols, ranges } = mergePorts(ports.flatMap(port => numbered(port, destination)));
  const whole = protocols.map(protocol => pool.ports(protocol));
  const some = PROTOCOLS.map(protocol => {
    const own = ranges.filter(range => range.protocol === protocol);
    return pool.ports(protocol, togglesOf(own, 1));
  });
  return [...whole, ...some].reduce((sum, each) => pool.or(sum, each), pool.none);
}

export function hasNames(ports: 'any' | readonly PortMatch[]): boolean {
  return ports !== 'any' && ports.some(({ kind }) => kind === 'named');
}

function numbered(port: PortMatch, destination: readonly ContainerPort[]): readonly NumberedPort[] {
  switch (port.kind) {
    case 'protocol':
    case 'range':
      return [port];
    case 'named':
      return destination.filter(declared => means(port, declared)).map(rangeOf);
    default:
      return assertNever(port);
  }
}

function rangeOf({ protocol, port }: ContainerPort): NumberedPort {
  return { kind: 'range', protocol, first: port, last: port };
}
