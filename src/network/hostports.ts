/** Host ports of attached pods, kept in the kernel's table and nowhere else. */
import type { Address } from '../model/address.ts';
import type { PodKey } from '../model/cluster.ts';
import { NetworkError } from './error.ts';
import type { HostPort } from './hostport.ts';
import {
  addPort,
  delHairpin,
  delPort,
  type PortElement,
  type TableState,
  tableMessages,
} from './podtable.ts';
import type { PodTableSocket } from './podtablesocket.ts';

export class HostPorts {
  readonly #table: PodTableSocket;

  constructor(table: PodTableSocket) {
    this.#table = table;
  }

  /** Puts the table up, or makes it right. */
  setUp(state: TableState): Promise<void> {
    return this.#table.commit(tableMessages(state));
  }

  /** Repeating it is harmless. Throws NetworkError where a port is another pod's; `living` are all pods' addresses. */
  async open(
    pod: PodKey,
    ports: readonly HostPort[],
    addresses: readonly Address[],
    living: ReadonlySet<Address>,
  ): Promise<void> {
    if (ports.length === 0) return;
    const wanted = elementsOf(pod, ports, addresses);
    const standing = await this.#table.ports();
    const stale = standing.filter(element => !living.has(element.pod));
    const holders = standing.filter(element => living.has(element.pod));
    for (const element of wanted) requireFree(element, holders, pod);
    const missing = wanted.filter(element => !holders.some(holder => isSame(holder, element)));
    await this.#table.commit([...removal(stale), ...missing.flatMap(addPort)]);
  }

  /** Takes away what leads to these addresses. */
  async close(addresses: readonly Address[]): Promise<void> {
    await this.#remove(element => addresses.includes(element.pod));
  }

  /** Takes away what leads to nobody; answers it. */
  collect(living: ReadonlySet<Address>): Promise<readonly PortElement[]> {
    return this.#remove(element => !living.has(element.pod));
  }

  async #remove(isDead: (element: PortElement) => boolean): Promise<readonly PortElement[]> {
    const dead = (await this.#table.ports()).filter(isDead);
    if (dead.length > 0) await this.#table.commit(removal(dead));
    return dead;
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
