/** Host ports of attached pods, kept in the kernel's table and nowhere else. */
import type { Address } from '../model/address.ts';
import type { PodKey } from '../model/cluster.ts';
import { NetworkError } from './error.ts';
import type { HostPort } from './hostport.ts';
import { InTurn } from './inturn.ts';
import {
  addPort,
  delHairpin,
  delPort,
  type PortElement,
  type TableState,
  tableMessages,
} from './podtable.ts';
import type { PodTableSocket } from './podtablesocket.ts';

/** The addresses that pods have at the moment of the call. */
export type Living = () => Promise<ReadonlySet<Address>>;

/**
 * Each change reads what stands, and then who lives: what stands was opened for an address that was given out before.
 * So changes wait for each other, or one would take the other's ports for a dead pod's.
 */
export class HostPorts {
  readonly #table: PodTableSocket;
  readonly #inTurn = new InTurn<'table'>();

  constructor(table: PodTableSocket) {
    this.#table = table;
  }

  /** Puts the table up, or makes it right. */
  setUp(state: TableState): Promise<void> {
    return this.#table.commit(tableMessages(state));
  }

  /** Repeating it is harmless. Throws NetworkError where a port is another pod's. */
  async open(
    pod: PodKey,
    ports: readonly HostPort[],
    addresses: readonly Address[],
    living: Living,
  ): Promise<void> {
    if (ports.length === 0) return;
    await this.#inTurn.run('table', () => this.#open(pod, ports, addresses, living));
  }

  async #open(
    pod: PodKey,
    ports: readonly HostPort[],
    addresses: readonly Address[],
    living: Living,
  ): Promise<void> {
    const wanted = elementsOf(pod, ports, addresses);
    const standing = await this.#table.ports();
    const alive = await living();
    const stale = standing.filter(element => !alive.has(element.pod));
    const holders = standing.filter(element => alive.has(element.pod));
    for (const element of wanted) requireFree(element, holders, pod);
    const missing = wanted.filter(element => !holders.some(holder => isSame(holder, element)));
    await this.#table.commit([...removal(stale), ...missing.flatMap(addPort)]);
  }

  /** Takes away what leads to these addresses. */
  async close(addresses: readonly Address[]): Promise<void> {
    await this.#remove(async () => element => addresses.includes(element.pod));
  }

  /** Takes away what leads to nobody; answers it. */
  collect(living: Living): Promise<readonly PortElement[]> {
    return this.#remove(async () => {
      const alive = await living();
      return element => !alive.has(element.pod);
    });
  }

  #remove(judge: () => Promise<(element: PortElement) => boolean>): Promise<readonly PortElement[]> {
    return this.#inTurn.run('table', async () => {
      const standing = await this.#table.ports();
      const dead = standing.length === 0 ? [] : standing.filter(await judge());
      if (dead.length > 0) await this.#table.commit(removal(dead));
      return dead;
    });
  }
}

function elementsOf(pod: PodKey, ports: readonly HostPort[], addresses: readonly Address[]): PortElement[] {
  const comment = pod.slice(0, 120);
  return ports.flatMap(port =>
    addresses.map(address => ({
      protocol: port.protocol,
      hostPort: port.hostPort,
      podPort: port.podPort,
      pod: address,
      comment,
    })),
  );
}

function removal(elements: readonly PortElement[]) {
  const pods = new Set(elements.map(({ pod }) => pod));
  return [...elements.map(delPort), ...[...pods].map(delHairpin)];
}

function requireFree(wanted: PortElement, holders: readonly PortElement[], pod: PodKey): void {
  const holder = holders.find(other => isSamePort(other, wanted) && !isSame(other, wanted));
  if (holder === undefined) return;
  throw new NetworkError(
    'conflict',
    `host port ${wanted.hostPort}/${wanted.protocol} leads to ${holder.comment || holder.pod} already; ${pod} does not get it`,
  );
}

function isSamePort(a: PortElement, b: PortElement): boolean {
  return (
    a.protocol === b.protocol && a.hostPort === b.hostPort && a.pod.includes(':') === b.pod.includes(':')
  );
}

function isSame(a: PortElement, b: PortElement): boolean {
  return isSamePort(a, b) && a.pod === b.pod && a.podPort === b.podPort;
}
