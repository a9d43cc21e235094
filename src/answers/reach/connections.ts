/**
 * What may pass between two ends, as a set: ports of the protocols that have some, and the numbers of all other IP
 * protocols. A pool makes each set once, so that equal sets are one object, and remembers what was asked of two.
 */

import type { Tunnels } from '../../model/cluster.ts';
import type { Protocol } from '../../model/policy.ts';
import { TUNNEL_PORTS, TUNNEL_PROTOCOLS } from '../../model/tunnels.ts';
import { combine, DIFFERENCE, INTERSECTION, type Toggles, togglesOf, UNION } from './regions.ts';

/** Destination ports, 1 to 65535. */
type PortSets = Readonly<Record<Protocol, Toggles>>;

export interface Connections extends PortSets {
  /** Number in the order in which the pool made the sets; `none` is 0. */
  readonly id: number;
  /** Numbers of IP protocols without ports, 0 to 255; ICMP, or ICMPv6, is 256. */
  readonly other: Toggles;
}

export type ConnectionSets = Omit<Connections, 'id'>;

export const ICMP = 256;
const EVERY_PORT: Toggles = [1, 65_536];
const EVERY_OTHER: Toggles = [0, ICMP + 1];

type Operation = 'and' | 'or' | 'minus';
const KEEPS = { and: INTERSECTION, or: UNION, minus: DIFFERENCE } as const;

export class ConnectionPool {
  readonly #sets: Connections[] = [];
  readonly #byText = new Map<string, Connections>();
  readonly #known = { and: new Map(), or: new Map(), minus: new Map() } as const satisfies Record<
    Operation,
    Map<number, Connections>
  >;
  readonly none = this.make({ TCP: [], UDP: [], SCTP: [], other: [] });
  readonly all = this.make({ TCP: EVERY_PORT, UDP: EVERY_PORT, SCTP: EVERY_PORT, other: EVERY_OTHER });
  /** The connections that would be tunnels if their destination were a node (N72). */
  readonly tunnels = this.make({
    TCP: [],
    UDP: singles(TUNNEL_PORTS),
    SCTP: [],
    other: singles(TUNNEL_PROTOCOLS),
  });

  /** Into the tunnels that a node is known to have. */
  tunnelsOf({ ports, protocols }: Tunnels = { ports: [], protocols: [] }): Connections {
    return this.make({ TCP: [], UDP: singles(ports), SCTP: [], other: singles(protocols) });
  }

  make({ TCP, UDP, SCTP, other }: ConnectionSets): Connections {
    const text = `${TCP}/${UDP}/${SCTP}/${other}`;
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const made = { id: this.#sets.length, TCP, UDP, SCTP, other };
    this.#byText.set(text, made);
    this.#sets.push(made);
    return made;
  }

  /** The set of all ports of a protocol, or of some. */
  ports(protocol: Protocol, ports: Toggles = EVERY_PORT): Connections {
    return this.make({ ...this.none, [protocol]: combine(ports, EVERY_PORT, INTERSECTION) });
  }

  byId(id: number): Connections {
    return this.#sets[id]!;
  }

  and(a: Connections, b: Connections): Connections {
    if (a === b || b === this.all || a === this.none) return a;
    return a === this.all || b === this.none ? b : this.#ask('and', a, b);
  }

  or(a: Connections, b: Connections): Connections {
    if (a === b || b === this.none || a === this.all) return a;
    return a === this.none || b === this.all ? b : this.#ask('or', a, b);
  }

  minus(a: Connections, b: Connections): Connections {
    if (b === this.none || a === this.none) return a;
    return a === b || b === this.all ? this.none : this.#ask('minus', a, b);
  }

  #ask(operation: Operation, a: Connections, b: Connections): Connections {
    const known = this.#known[operation];
    const key = a.id * 2 ** 26 + b.id;
    const found = known.get(key);
    if (found !== undefined) return found;
    const keeps = KEEPS[operation];
    const made = this.make({
      TCP: combine(a.TCP, b.TCP, keeps),
      UDP: combine(a.UDP, b.UDP, keeps),
      SCTP: combine(a.SCTP, b.SCTP, keeps),
      other: combine(a.other, b.other, keeps),
    });
    known.set(key, made);
    return made;
  }
}

function singles(values: readonly number[]): Toggles {
  return togglesOf(
    values.map(value => ({ first: value, last: value })),
    1,
  );
}
