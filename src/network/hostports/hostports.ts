/** Host ports of attached pods: decided here, desired state from then on, and in the kernel as all of it. */
import { Coalescer } from '../../lib/async/coalescer.ts';
import { type Address, familyOf, parseAddress } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import { type HostPortMapping, ownerText } from '../../model/hostport.ts';
import { PROTOCOLS, type Protocol } from '../../model/policy.ts';
import { invalid, shown } from '../attach/request.ts';
import { asNetworkError, NetworkError } from '../error.ts';

/** Keeps the mappings of host ports, and programs them. */
export interface HostPortState {
  /** The desired mappings. */
  mappings(): readonly HostPortMapping[];
  /** Takes a change in; it goes with the next change of the pod's rules, or with `publish`. */
  change(remove: readonly HostPortMapping[], add: readonly HostPortMapping[]): void;
  /** Publishes the changes that were not published yet. A request waits for urgent ones. */
  publish(how: { readonly urgent: boolean }): void;
  /** Settles when the kernel holds all that has gone before the call. Throws NetworkError where that takes too long. */
  programmed(): Promise<void>;
}

/**
 * Each change reads the present mappings, and then the living pods, because a port may be mapped to an address that was
 * just given out. So changes run one after the other, or one would take the other's ports for those of a dead pod;
 * waiting changes run together.
 */
export class HostPorts {
  readonly #state: HostPortState;
  readonly #living: () => Promise<ReadonlySet<Address>>;
  readonly #forget: (wanted: (flow: Flow) => boolean) => Promise<void>;
  readonly #changes = new Coalescer((changes: readonly PortChange[]) => this.#make(changes));
  /** Mappings of UDP that changed since connections were last forgotten. */
  #forgettable: HostPortMapping[] = [];
  readonly #following = new Set<Promise<NetworkError | undefined>>();

  /**
   * `living` returns the addresses that pods have now; `forget` makes the kernel forget open connections, which it
   * would still send to their earlier destination.
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

  /** Resolves when the kernel has all claimed and released ports. Throws NetworkError if that takes too long. */
  async settle(): Promise<void> {
    this.#state.publish({ urgent: true });
    const failures = await Promise.all([this.#follow(), ...this.#following]);
    for (const failure of failures) if (failure !== undefined) throw failure;
  }

  /** Whether connections of released ports still have to be forgotten: the next pod with the address waits for that. */
  get isSettling(): boolean {
    return this.#forgettable.length + this.#following.size > 0;
  }

  /** Removes the mappings to these addresses. */
  async release(addresses: readonly Address[]): Promise<void> {
    await this.#changes.ask({ close: addresses });
  }

  /** Publishes released ports; no request waits for it. */
  publish(): void {
    this.#state.publish({ urgent: false });
    if (this.#forgettable.length > 0) void this.#follow();
  }

  /** Removes ports that lead to no pod; returns them. */
  async collect(): Promise<readonly HostPortMapping[]> {
    const dead = await this.#changes.ask({});
    this.publish();
    return dead;
  }

  /** For each change, returns the ports that led to no pod any more. */
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

  /** Returns an error if not all connections were forgotten. Never throws, because some callers do not wait for it. */
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

/** Whether a port maps, or mapped, such packets; TCP connections recover on their own. */
function isLed({ to, port, protocol, viaService }: Flow, mapping: HostPortMapping): boolean {
  if (protocol !== mapping.protocol || familyOf(to) !== familyOf(mapping.pod)) return false;
  return viaService ? to === mapping.pod && port === mapping.podPort : port === mapping.hostPort;
}

export interface PortChange {
  /** The ports that shall lead to a pod's addresses, and no others. */
  readonly open?: {
    readonly pod: PodKey;
    readonly ports: readonly HostPort[];
    readonly addresses: readonly Address[];
  };
  /** Addresses that no port shall lead to. */
  readonly close?: readonly Address[];
}

export interface PortPlan {
  readonly remove: readonly HostPortMapping[];
  readonly add: readonly HostPortMapping[];
  /** The mappings of `remove` that led to an address that no pod has. */
  readonly dead: readonly HostPortMapping[];
  /** For each change the reason why nothing of it is done; undefined if it is done. */
  readonly refusals: readonly (NetworkError | undefined)[];
}

/** The changes one after the other. `alive` are the addresses that pods have; undefined: no matter. */
export function portPlan(
  actual: readonly HostPortMapping[],
  alive: ReadonlySet<Address> | undefined,
  changes: readonly PortChange[],
): PortPlan {
  const dead = alive === undefined ? [] : actual.filter(({ pod }) => !alive.has(pod));
  let held = actual.filter(element => !dead.includes(element));
  const refusals = changes.map(({ open, close = [] }) => {
    held = held.filter(({ pod }) => !close.includes(pod));
    const opened = open === undefined ? held : withOpened(held, open);
    if (opened instanceof NetworkError) return opened;
    held = opened;
    return undefined;
  });
  return {
    remove: actual.filter(element => !held.includes(element)),
    add: held.filter(element => !actual.includes(element)),
    dead,
    refusals,
  };
}

type Opened = NonNullable<PortChange['open']>;

function mappingsFor({ pod, ports, addresses }: Opened): HostPortMapping[] {
  const owner = ownerText(pod);
  return ports.flatMap(({ protocol, hostPort, podPort }) =>
    addresses.map(address => ({ protocol, hostPort, podPort, pod: address, owner })),
  );
}

function withOpened(held: readonly HostPortMapping[], opened: Opened): HostPortMapping[] | NetworkError {
  const { pod, addresses } = opened;
  const wanted = mappingsFor(opened);
  // Other ports with the same address are left over from a pod that had the address before.
  const all = held.filter(
    element => !addresses.includes(element.pod) || wanted.some(one => isSame(one, element)),
  );
  for (const one of wanted) {
    const holder = all.find(other => isSamePort(other, one));
    if (holder === undefined) all.push(one);
    else if (!isSame(holder, one)) return taken(holder, pod);
  }
  return all;
}

function isSame(a: HostPortMapping, b: HostPortMapping): boolean {
  return isSamePort(a, b) && a.pod === b.pod && a.podPort === b.podPort && a.owner === b.owner;
}

function isSamePort(a: HostPortMapping, b: HostPortMapping): boolean {
  return (
    a.protocol === b.protocol && a.hostPort === b.hostPort && a.pod.includes(':') === b.pod.includes(':')
  );
}

function taken({ hostPort, protocol, owner, pod: address, podPort }: HostPortMapping, pod: PodKey) {
  return new NetworkError(
    'conflict',
    `host port ${hostPort}/${protocol} leads to port ${podPort} of ${owner || address} already; ${pod} does not get it`,
  );
}

/** Ports of the node that lead to a pod, on all of the node's addresses. */
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
