/**
 * What may pass between two ends, as a set: ports of the protocols that have some, and the numbers of all other IP
 * protocols. A pool makes each set once, so that equal sets are one object, and remembers what was asked of two.
 */

import type { ContainerPort, Tunnels } from '../../model/cluster.ts';
import { type PortMatch, PROTOCOLS, type Protocol } from '../../model/policy.ts';
import { TUNNEL_PORTS, TUNNEL_PROTOCOLS } from '../../model/tunnels.ts';
import {
  combine,
  DIFFERENCE,
  INTERSECTION,
  type Toggles,
  toggleRanges,
  togglesOf,
  UNION,
} from './regions.ts';

/** Destination ports, 1 to 65535, and beyond these the ports that are known by their names alone. */
type PortSets = Readonly<Record<Protocol, Toggles>>;

export interface Connections extends PortSets {
  /** Number in the order in which the pool made the sets; `none` is 0. */
  readonly id: number;
  /** Numbers of IP protocols without ports, 0 to 255; ICMP, or ICMPv6, is 256. */
  readonly other: Toggles;
}

export type ConnectionSets = Omit<Connections, 'id'>;

export const ICMP = 256;
const LAST_PORT = 65_535;
/** There is a gap before it, so that no range of numbers goes on into the names. */
const FIRST_NAMED = LAST_PORT + 2;
const EVERY_OTHER: Toggles = [0, ICMP + 1];

type Operation = 'and' | 'or' | 'minus';
const KEEPS = { and: INTERSECTION, or: UNION, minus: DIFFERENCE } as const;

/**
 * A pod that is not there yet may give any number to a port that rules select by name. So each port name counts as one
 * more port: it stands for the port with this name, where no rule selects it by number.
 */
export class ConnectionPool {
  readonly #portNames: readonly string[];
  /** What a pod declares whose ports have all these names, and numbers that are not known. */
  readonly namedPorts: readonly ContainerPort[];
  readonly #everyPort: Toggles;
  readonly #sets: Connections[] = [];
  readonly #byText = new Map<string, Connections>();
  readonly #known = { and: new Map(), or: new Map(), minus: new Map() } as const satisfies Record<
    Operation,
    Map<number, Connections>
  >;
  /** What the ports of rules without names mean, by their lists. */
  readonly ofPorts = new WeakMap<readonly PortMatch[], Connections>();
  readonly none: Connections;
  readonly all: Connections;
  /** The connections that would be tunnels if their destination were a node (N72). */
  readonly tunnels: Connections;

  /** `portNames` are those that rules contain. */
  constructor(portNames: Iterable<string> = []) {
    this.#portNames = [...portNames];
    this.namedPorts = this.#portNames.flatMap((name, i) =>
      PROTOCOLS.map(protocol => ({ name, protocol, port: FIRST_NAMED + i })),
    );
    const names = this.#portNames.length;
    const every = [1, names === 0 ? LAST_PORT + 1 : FIRST_NAMED + names];
    this.#everyPort = every;
    this.none = this.make({ TCP: [], UDP: [], SCTP: [], other: [] });
    this.all = this.make({ TCP: every, UDP: every, SCTP: every, other: EVERY_OTHER });
    const [ports, protocols] = [singles(TUNNEL_PORTS), singles(TUNNEL_PROTOCOLS)];
    this.tunnels = this.make({ TCP: [], UDP: ports, SCTP: [], other: protocols });
  }

  /** The ranges of a set of ports that are numbers, and the names of others. */
  numbersAndNames(ports: Toggles): NumbersAndNames {
    const ranges = toggleRanges(ports, 1);
    const numbers = ranges.filter(({ first }) => first <= LAST_PORT);
    const named = ranges.filter(({ first }) => first > LAST_PORT);
    return {
      ranges: numbers.map(({ first, last }) => ({ first, last: Math.min(last, LAST_PORT) })),
      names: named.flatMap(({ first, last }) =>
        this.#portNames.slice(first - FIRST_NAMED, last - FIRST_NAMED + 1),
      ),
    };
  }

  /** The names that the set lacks, if it has the last number: else it has only those that it names. */
  namesWithout(ports: Toggles): readonly string[] {
    const hasLast = toggleRanges(ports, 1).some(({ first, last }) => first <= LAST_PORT && last >= LAST_PORT);
    return hasLast ? this.numbersAndNames(combine(this.#everyPort, ports, DIFFERENCE)).names : [];
  }

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
  ports(protocol: Protocol, ports: Toggles = this.#everyPort): Connections {
    const some = combine(ports, this.#everyPort, INTERSECTION);
    return this.make({ ...this.none, [protocol]: isEveryNumber(some) ? this.#everyPort : some });
  }

  byId(id: number): Connections {
    return this.#sets[id]!;
  }

  /** `and` of two sets by their ids. */
  andIds(a: number, b: number): number {
    const { none, all } = this;
    if (a === b || b === all.id || a === none.id) return a;
    return a === all.id || b === none.id ? b : this.and(this.byId(a), this.byId(b)).id;
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

interface NumbersAndNames {
  readonly ranges: readonly { readonly first: number; readonly last: number }[];
  readonly names: readonly string[];
}

function isEveryNumber([first, end]: Toggles): boolean {
  return first === 1 && end! > LAST_PORT;
}

function singles(values: readonly number[]): Toggles {
  return togglesOf(
    values.map(value => ({ first: value, last: value })),
    1,
  );
}
