/** Host ports of attached pods: decided here, desired state from then on, and in the kernel as all of it. */
import { Coalescer } from '../../lib/async/coalescer.ts';
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
  /** Takes a change in; it goes with the next change of the pod's rules, or with `publish`. */
  change(remove: readonly HostPortMapping[], add: readonly HostPortMapping[]): void;
  /** Sends on what has not gone yet. Somebody waits for what is urgent. */
  publish(how: { readonly urgent: boolean }): void;
  /** Settles when the kernel holds all that has gone before the call. Throws NetworkError where that takes too long. */
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
  /** Of UDP, changed since connections were last forgotten. */
  #forgettable: HostPortMapping[] = [];
  readonly #following = new Set<Promise<NetworkError | undefined>>();

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
   * The addresses' ports are these, as far as others are concerned; `settle` makes it true. Throws NetworkError where
   * one is another pod's.
   */
  async claim(pod: PodKey, ports: readonly HostPort[], addresses: readonly Address[]): Promise<void> {
    await this.#changes.ask({ open: { pod, ports, addresses } });
  }

  /** Settles when the kernel holds what was claimed and released. Throws NetworkError where it does not in time. */
  async settle(): Promise<void> {
    this.#state.publish({ urgent: true });
    const failures = await Promise.all([this.#follow(), ...this.#following]);
    for (const failure of failures) if (failure !== undefined) throw failure;
  }

  /** Whether something that was released is to be forgotten yet: whoever gets its address waits for that. */
  get isSettling(): boolean {
    return this.#forgettable.length + this.#following.size > 0;
  }

  /** Takes away what leads to these addresses. */
  async release(addresses: readonly Address[]): Promise<void> {
    await this.#changes.ask({ close: addresses });
  }

  /** What was released goes on its way; nobody waits for it. */
  publish(): void {
    this.#state.publish({ urgent: false });
    if (this.#forgettable.length > 0) void this.#follow();
  }

  /** Takes away what leads to nobody; answers it. */
  async collect(): Promise<readonly HostPortMapping[]> {
    const dead = await this.#changes.ask({});
    this.publish();
    return dead;
  }

  /** Answers each change what led to nobody. */
  async #make(changes: readonly PortChange[]): Promise<(readonly HostPortMapping[] | Error)[]> {
    const mapped = this.#state.mappings();
    const onlyReleases = changes.every(({ close }) => close !== undefined);
    const alive = mapped.length === 0 || onlyReleases ? undefined : await this.#living();
    const { remove, add, dead, refusals } = portPlan(mapped, alive, changes);
    if (remove.length + add.length > 0) this.#state.change(remove, add);
    this.#forgettable.push(...[...remove, ...add].filter(({ protocol }) => protocol === 'UDP'));
    return refusals.map(refusal => refusal ?? dead);
  }

  #follow(): Promise<NetworkError | undefined> {
    const following = this.#forgetWhenProgrammed().finally(() => this.#following.delete(following));
    this.#following.add(following);
    return following;
  }

  /** Answers why not all of it is done, where it is not. Never throws: not everybody waits for it. */
  async #forgetWhenProgrammed(): Promise<NetworkError | undefined> {
    const late = await this.#state.programmed().then(nothing, asNetworkError);
    const changed = this.#forgettable;
    this.#forgettable = [];
    if (changed.length === 0) return late;
    const forgotten = await this.#forget(flow => changed.some(port => isLed(flow, port))).then(
      nothing,
      asNetworkError,
    );
    return late ?? forgotten;
  }
}

function nothing(): undefined {}

/** Whether a port leads such packets, or led them; those of TCP begin anew by themselves. */
function isLed({ to, port, protocol, viaService }: Flow, mapping: HostPortMapping): boolean {
  if (protocol !== mapping.protocol || familyOf(to) !== familyOf(mapping.pod)) return false;
  return viaService ? to === mapping.pod && port === mapping.podPort : port === mapping.hostPort;
}
