/** Host ports of attached pods: decided here, desired state from then on, and in the kernel as all of it. */
import { Coalescer } from '../../async/coalescer.ts';
import { type Address, familyOf } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { HostPortMapping } from '../../model/hostport.ts';
import { asNetworkError, type NetworkError } from '../error.ts';
import type { HostPort } from './hostport.ts';
import { type PortChange, portPlan } from './portplan.ts';

/** Where the mappings are kept, and made true. */
export interface HostPortState {
  /** As they are to be. */
  mappings(): readonly HostPortMapping[];
  /** Takes a change in; the kernel has it soon. */
  change(remove: readonly HostPortMapping[], add: readonly HostPortMapping[]): void;
  /** Settles when the kernel holds all changes before the call. Throws NetworkError where that takes too long. */
  programmed(): Promise<void>;
}

/**
 * Each change asks what is mapped, and then who lives: a port was mapped to an address that was given out before. So
 * changes wait for each other, or one would take the other's ports for a dead pod's; those that wait go together.
 */
export class HostPorts {
  readonly #state: HostPortState;
  readonly #living: () => Promise<ReadonlySet<Address>>;
  readonly #forget: (wanted: (flow: Flow) => boolean) => Promise<void>;
  readonly #changes = new Coalescer((changes: readonly PortChange[]) => this.#make(changes));

  /**
   * `living` answers the addresses that pods have at the moment of the call; `forget` has the kernel forget open
   * connections, which it leads on to where they were led first.
   */
  constructor(
    state: HostPortState,
    living: () => Promise<ReadonlySet<Address>>,
    forget: (wanted: (flow: Flow) => boolean) => Promise<void>,
  ) {
    this.#state = state;
    this.#living = living;
    this.#forget = forget;
  }

  /**
   * The addresses' ports are these from then on, in the kernel too. Throws NetworkError where one is another pod's, and
   * where the kernel does not get them in time.
   */
  async open(pod: PodKey, ports: readonly HostPort[], addresses: readonly Address[]): Promise<void> {
    await this.#changes.ask({ open: { pod, ports, addresses } });
  }

  /** Takes away what leads to these addresses. */
  async close(addresses: readonly Address[]): Promise<void> {
    await this.#changes.ask({ close: addresses });
  }

  /** Takes away what leads to nobody; answers it. */
  collect(): Promise<readonly HostPortMapping[]> {
    return this.#changes.ask({});
  }

  /** Answers each change what led to nobody. */
  async #make(changes: readonly PortChange[]): Promise<(readonly HostPortMapping[] | Error)[]> {
    const mapped = this.#state.mappings();
    const onlyCloses = changes.every(({ close }) => close !== undefined);
    const alive = mapped.length === 0 || onlyCloses ? undefined : await this.#living();
    const { remove, add, dead, refusals } = portPlan(mapped, alive, changes);
    if (remove.length + add.length > 0) this.#state.change(remove, add);
    const followed = this.#forgetWhenProgrammed([...remove, ...add]);
    // Whoever gets an address waits for its rules, and so for all that is taken away here.
    const late = changes.some(opensPorts) ? await followed : undefined;
    return changes.map((change, index) => refusals[index] ?? (opensPorts(change) ? late : undefined) ?? dead);
  }

  /** Answers why not all of it is done, where it is not. Never throws: not everybody waits for it. */
  async #forgetWhenProgrammed(changed: readonly HostPortMapping[]): Promise<NetworkError | undefined> {
    const forgettable = changed.filter(({ protocol }) => protocol === 'UDP');
    const failure = (error: Error) => asNetworkError(error);
    const late = await this.#state.programmed().then(() => undefined, failure);
    if (forgettable.length === 0) return late;
    const forgetting = this.#forget(flow => forgettable.some(port => isLed(flow, port)));
    const forgotten = await forgetting.then(() => undefined, failure);
    return late ?? forgotten;
  }
}

function opensPorts({ open }: PortChange): boolean {
  return open !== undefined && open.ports.length > 0;
}

/** Whether a port leads such packets, or led them; those of TCP begin anew by themselves. */
function isLed({ to, port, protocol, viaService }: Flow, mapping: HostPortMapping): boolean {
  if (protocol !== mapping.protocol || familyOf(to) !== familyOf(mapping.pod)) return false;
  return viaService ? to === mapping.pod && port === mapping.podPort : port === mapping.hostPort;
}
