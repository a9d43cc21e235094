/** Host ports of attached pods, kept in the kernel's table and nowhere else. */

import { Coalescer } from '../../async/coalescer.ts';
import { type Address, familyOf } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import { OWNED } from '../../netlink/nftables/ownership.ts';
import type { HostPort } from './hostport.ts';
import {
  addPort,
  delHairpin,
  delPort,
  type PortElement,
  type TableMessage,
  type TableState,
  tableMessages,
} from './podtable.ts';
import { type PodTableSocket, TableError } from './podtablesocket.ts';
import { type PortChange, portPlan } from './portplan.ts';

/**
 * Each change reads what stands, and then who lives: what stands was opened for an address that was given out before.
 * So changes wait for each other, or one would take the other's ports for a dead pod's; those that wait go together.
 */
export class HostPorts {
  readonly #table: PodTableSocket;
  readonly #living: () => Promise<ReadonlySet<Address>>;
  readonly #forget: (wanted: (flow: Flow) => boolean) => Promise<void>;
  readonly #changes = new Coalescer((changes: readonly PortChange[]) => this.#make(changes));

  /**
   * `living` answers the addresses that pods have at the moment of the call; `forget` has the kernel forget open
   * connections, which it leads on to where they were led first.
   */
  constructor(
    table: PodTableSocket,
    living: () => Promise<ReadonlySet<Address>>,
    forget: (wanted: (flow: Flow) => boolean) => Promise<void>,
  ) {
    this.#table = table;
    this.#living = living;
    this.#forget = forget;
  }

  /** Puts the table up, or makes it right. It is nobody else's to change, where the kernel knows such tables. */
  async setUp(state: TableState): Promise<void> {
    try {
      await this.#table.commit(tableMessages(state, OWNED));
    } catch (error) {
      if (!(error instanceof TableError && error.code === 'EOPNOTSUPP')) throw error;
      await this.#table.commit(tableMessages(state, 0));
    }
  }

  /** The addresses' ports are these from then on. Throws NetworkError where one is another pod's. */
  async open(pod: PodKey, ports: readonly HostPort[], addresses: readonly Address[]): Promise<void> {
    await this.#changes.ask({ open: { pod, ports, addresses } });
  }

  /** Takes away what leads to these addresses. */
  async close(addresses: readonly Address[]): Promise<void> {
    await this.#changes.ask({ close: addresses });
  }

  /** Takes away what leads to nobody; answers it. */
  collect(): Promise<readonly PortElement[]> {
    return this.#changes.ask({});
  }

  /** Answers each change what led to nobody. */
  async #make(changes: readonly PortChange[]): Promise<(readonly PortElement[] | Error)[]> {
    const standing = await this.#table.ports();
    const onlyCloses = changes.every(({ close }) => close !== undefined);
    const alive = standing.length === 0 || onlyCloses ? undefined : await this.#living();
    const { remove, add, dead, refusals } = portPlan(standing, alive, changes);
    const messages = [...removal(remove), ...add.flatMap(addPort)];
    if (messages.length > 0) await this.#table.commit(messages);
    const forgettable = [...remove, ...add].filter(({ protocol }) => protocol === 'UDP');
    if (forgettable.length > 0) await this.#forget(flow => forgettable.some(port => isLed(flow, port)));
    return refusals.map(refusal => refusal ?? dead);
  }
}

function removal(elements: readonly PortElement[]): TableMessage[] {
  const pods = new Set(elements.map(({ pod }) => pod));
  return [...elements.map(delPort), ...[...pods].flatMap(delHairpin)];
}

/** Whether a port leads such packets, or led them; those of TCP begin anew by themselves. */
function isLed({ to, port, protocol, viaService }: Flow, element: PortElement): boolean {
  if (protocol !== element.protocol || familyOf(to) !== familyOf(element.pod)) return false;
  return viaService ? to === element.pod && port === element.podPort : port === element.hostPort;
}
