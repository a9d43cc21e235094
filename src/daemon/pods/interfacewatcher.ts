/**
 * Which of this node's interfaces lead to pods, which lead out of the node, and which are ends of tunnels: read from the
 * kernel, and merged into the agent's own Node as if the API server had reported it. Changes are found within some
 * seconds: a bridge is made with the first pod, an uplink while a machine boots. A new port of a bridge is read as soon
 * as the kernel reports it, and again soon until its pod is known, which gets its address a moment later.
 */
import type { Logger } from 'pino';
import { PortWatch } from '../../kernel/netlink/route/routewatch.ts';
import { writeGetAddresses, writeGroupForward } from '../../kernel/netlink/route/rtnetlink.ts';
import {
  type DeviceAddress,
  type Link,
  readDeviceAddress,
} from '../../kernel/netlink/route/rtnetlink-read.ts';
import { listLinks, RtnetlinkSocket } from '../../kernel/netlink/route/rtnetlink-socket.ts';
import { type Backoff, backoffMs } from '../../lib/async/backoff.ts';
import { Coalescer } from '../../lib/async/coalescer.ts';
import {
  type Address,
  type Cidr,
  cidrContains,
  isLoopback,
  parseAddress,
  parseCidr,
} from '../../model/address.ts';
import { broadcastsOf } from '../../model/broadcasts.ts';
import type { Cluster, ClusterEvent, Node, NodeLinks, PodPort, Tunnels } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { bridgePortsOf, podPortsOf, readBridgePorts } from './podports.ts';
import { devicesTo } from './podroutes.ts';

const EVERY_MS = 5_000;
/** How often the kernel's notices are read: a call that takes microseconds. */
const NOTICES_MS = 50;
/** The wait between looks at unknown ports: a pod can cause notices without end, and a look takes milliseconds. */
const UNKNOWN: Backoff = { firstMs: 200, mostMs: EVERY_MS };

export interface InterfaceWatcherOptions {
  readonly node: string;
  readonly cluster: () => Cluster;
  /** Applies the agent's own Node again when its interfaces have changed. */
  readonly apply: (events: readonly ClusterEvent[], urgent: boolean) => void;
  /** Whether this kernel supports the rules about sources behind ports of a bridge. */
  readonly bridgeRules: boolean;
  /** The ports in the rules that this agent found at its start. */
  readonly portsBefore: readonly PodPort[];
  /** Whether the node's pods may send into tunnels between nodes. Default: deny. */
  readonly podTunnels?: 'deny' | 'allow';
  readonly log: Logger;
}

export class InterfaceWatcher {
  readonly #needs: InterfaceWatcherOptions;
  readonly #socket = new RtnetlinkSocket();
  readonly #looks = new Coalescer<boolean, void>(async urgent => {
    await this.#look(urgent.includes(true));
    return urgent.map(() => undefined);
  });
  #own: OwnInterfaces | undefined;
  #before: readonly PodPort[];
  #watch: PortWatch | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When the next look is due, and how many looks there were since the unknown ports changed. */
  #dueMs = 0;
  #looked = { atMs: 0, unknown: '', times: 0 };
  #failed = false;
  /** Bridges that ask their hooks of LLDP, or cannot be made to. */
  readonly #asked = new Set<number>();

  constructor(needs: InterfaceWatcherOptions) {
    this.#needs = needs;
    this.#before = needs.portsBefore;
  }

  /**
   * The same events, with the own Node's interfaces merged in. If the Node object is deleted while its agent runs, it
   * is kept: the addresses and links of its pods are still the same.
   */
  merge(events: readonly ClusterEvent[]): readonly ClusterEvent[] {
    return events.flatMap(event => {
      if (event.type !== 'node' || event.key !== this.#needs.node) return [event];
      return event.value === undefined ? [] : [{ ...event, value: this.#with(event.value) }];
    });
  }

  /** Reads them once, and from then on every few seconds. */
  async start(): Promise<void> {
    // Opened before the first look, so that no change between the two is missed.
    this.#watch = new PortWatch();
    await this.look();
    this.#timer = setInterval(() => this.#turn(), NOTICES_MS).unref();
  }

  /** Reads the interfaces now. `urgent`: a pod waits for the rules. Never throws. */
  look(urgent = false): Promise<void> {
    return this.#looks.ask(urgent);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#watch?.close();
    this.#socket.close();
  }

  #turn(): void {
    // Made for the first notice: most turns have none.
    let known: ReadonlySet<number> | undefined;
    const isKnown = (index: number) => {
      known ??= new Set([
        ...this.#before.map(port => port.index),
        ...(this.#own?.links.bridgePorts?.others ?? []),
      ]);
      return known.has(index);
    };
    if (this.#watch!.hasOther(isKnown))
      this.#dueMs = Math.min(this.#dueMs, this.#looked.atMs + UNKNOWN.firstMs);
    if (performance.now() < this.#dueMs) return;
    this.#dueMs = Number.POSITIVE_INFINITY; // no other look until this one is done
    void this.look();
  }

  /** The newer the unknown ports are, the sooner is the next look. */
  #plan(): void {
    const unknown = this.#own?.links.bridgePorts?.unknown.join() ?? '';
    const times = unknown === this.#looked.unknown ? this.#looked.times + 1 : 1;
    const atMs = performance.now();
    this.#looked = { atMs, unknown, times };
    this.#dueMs = atMs + (unknown === '' ? EVERY_MS : backoffMs(UNKNOWN, times));
  }

  async #look(urgent: boolean): Promise<void> {
    try {
      await this.#renew(urgent);
      this.#failed = false;
    } catch (error) {
      this.#report(error);
    }
    this.#plan();
  }

  async #renew(urgent: boolean): Promise<void> {
    const { node, cluster, apply } = this.#needs;
    const own = await this.#read();
    if (JSON.stringify(own) === JSON.stringify(this.#own)) return;
    this.#own = own;
    const value = cluster().nodes.get(node);
    if (value !== undefined) apply([{ type: 'node', key: node, value: this.#with(value) }], urgent);
  }

  /** After an error the last known interfaces stay; if none were known, every veth counts as a pod's. */
  #report(error: unknown): void {
    if (!this.#failed)
      this.#needs.log.warn(
        { err: error },
        'interfaces of this node cannot be read: which lead to pods stays as it was',
      );
    this.#failed = true;
  }

  async #read(): Promise<OwnInterfaces> {
    const { node, cluster, bridgeRules, podTunnels } = this.#needs;
    const read = await readOwnInterfaces(this.#socket, cluster(), node, this.#before);
    const own = podTunnels === 'allow' ? { ...read, links: { ...read.links, podTunnels } } : read;
    const { podPorts, bridgePorts, ...links } = own.links;
    if (!bridgeRules || podPorts === undefined) return { ...own, links };
    this.#before = podPorts;
    await this.#askOfLldp(own.links.podBridges);
    return own;
  }

  /** Sets LLDP forwarding once for each bridge: if it is reset later, that is deliberate. */
  async #askOfLldp(bridges: readonly number[]): Promise<void> {
    if (bridges.every(index => this.#asked.has(index))) return;
    const { log } = this.#needs;
    for (const index of bridges) this.#asked.add(index);
    try {
      for (const bridge of await askHooksOfLldp(this.#socket, bridges))
        log.info(
          { bridge },
          `bridge ${bridge} asks rules about frames to LLDP's address from now on (group_fwd_mask)`,
        );
    } catch (error) {
      log.warn(
        { err: error },
        "frames of pods to LLDP's address are asked of no rule: the bridge cannot be set",
      );
    }
  }

  #with(value: Node): Node {
    return { ...value, ...this.#own };
  }
}

type OwnInterfaces = Required<Pick<Node, 'links' | 'interfaceAddresses'>>;

/** With IPVS, kube-proxy gives this interface the ClusterIPs: packets to them are for Services. */
const OF_SERVICES = 'kube-ipvs0';
const MOST_ADDRESSES = 256;

/** Addresses of packets to the node itself, whether or not their interfaces are up. */
export function interfaceAddressesOf(
  interfaces: readonly Pick<Link, 'index' | 'name'>[],
  addresses: readonly Pick<DeviceAddress, 'device' | 'address'>[],
): readonly Address[] {
  const services = interfaces.find(({ name }) => name === OF_SERVICES)?.index;
  const own = addresses.flatMap(({ device, address }) => (device === services ? [] : [address]));
  return [...new Set(own)]
    .filter(address => !isLoopback(address) && !cidrContains(LINK_LOCAL, address))
    .sort()
    .slice(0, MOST_ADDRESSES);
}

const LINK_LOCAL = parseCidr('fe80::/10')!;

/** Addresses for documentation (RFC 5737, RFC 3849): the route to them is the default route. */
const ANYBODY = ['192.0.2.1', '2001:db8::1'].map(text => parseAddress(text)!);
/** A few are enough, because nodes are reached by the same interfaces. */
const MOST_ASKED = 16;

export async function readOwnInterfaces(
  socket: RtnetlinkSocket,
  { nodes, pods }: Cluster,
  node: string,
  before: readonly PodPort[] = [],
): Promise<OwnInterfaces> {
  const podCidrs = podCidrsOf(nodes.get(node));
  const others = [...nodes.values()].filter(({ name }) => name !== node);
  const local = [...pods.values()].filter(pod => pod.node === node && !pod.hostNetwork && !pod.finished);
  const podAddresses = local.flatMap(({ addresses }) => addresses);
  const toNodes = others.flatMap(({ addresses }) => addresses).slice(0, MOST_ASKED);
  const toPods = podAddresses.filter(at => !isIn(podCidrs, at)).slice(0, MOST_ASKED);
  const { interfaces, addresses } = await readDevices(socket);
  const interfaceAddresses = interfaceAddressesOf(interfaces, addresses);
  const own = nodes.get(node)?.addresses ?? [];
  const waysOut = known(await devicesTo(socket, [...ANYBODY, ...toNodes]));
  const waysToPods = known(await devicesTo(socket, toPods));
  const links = nodeLinksOf({ interfaces, addresses, podCidrs, own, waysOut, waysToPods });
  if (links.podBridges.length === 0) return { links, interfaceAddresses };
  const ports = await readBridgePorts(socket, interfaces, links.podBridges);
  const ownAddresses = new Set(addresses.map(({ address }) => address));
  const ofBridges = addresses.filter(({ device }) => links.podBridges.includes(device));
  const networks = [...podCidrs, ...ofBridges.map(({ network }) => network)];
  const facts = { ports, podCidrs, networks, podAddresses: new Set(podAddresses), ownAddresses, before };
  const podPorts = podPortsOf(facts);
  const bridgePorts = bridgePortsOf(interfaces, links.podBridges, podPorts);
  return { links: { ...links, podPorts, bridgePorts }, interfaceAddresses };
}

function known(indices: readonly (number | undefined)[]): number[] {
  return indices.filter(index => index !== undefined);
}

async function readDevices(socket: RtnetlinkSocket) {
  const interfaces = await listLinks(socket);
  const addresses = await socket.dump(
    { what: 'list addresses', write: writeGetAddresses },
    readDeviceAddress,
  );
  return { interfaces, addresses };
}

/** The facts of the kernel and those of the cluster. */
export interface LinkFacts {
  readonly interfaces: readonly Pick<Link, 'index' | 'kind' | 'tunnel'>[];
  readonly addresses: readonly Omit<DeviceAddress, 'network'>[];
  readonly podCidrs: readonly Cidr[];
  /** Addresses of the Node. */
  readonly own: readonly Address[];
  /** Indices of the interfaces by which other nodes and the rest of the world are reached. */
  readonly waysOut: readonly number[];
  /** Interfaces to pods whose addresses are in none of the pod networks. */
  readonly waysToPods: readonly number[];
}

export function nodeLinksOf(facts: LinkFacts): NodeLinks {
  const { interfaces, addresses, podCidrs, own, waysOut, waysToPods } = facts;
  const holders = addresses.filter(({ address }) => own.includes(address) && !isIn(podCidrs, address));
  const uplinks = new Set(
    [...waysOut, ...holders.map(({ device }) => device)].filter(index => index > LOOPBACK),
  );
  const inside = addresses.filter(({ address }) => isIn(podCidrs, address)).map(({ device }) => device);
  const carrying = new Set([...inside, ...waysToPods]);
  const bridges = interfaces.filter(({ kind }) => kind === 'bridge').map(({ index }) => index);
  const podBridges = bridges
    .filter(index => carrying.has(index) && !uplinks.has(index))
    .sort((a, b) => a - b);
  const broadcasts = otherBroadcasts(addresses, podBridges, podCidrs);
  const tunnels = interfaces.flatMap(({ tunnel }) => tunnel ?? []);
  return {
    uplinks: [...uplinks].sort((a, b) => a - b),
    podBridges,
    ...(broadcasts.length > 0 && { broadcasts }),
    ...(tunnels.length > 0 && { tunnels: tunnelsOf(tunnels) }),
  };
}

/** Packets of pods are compared with each of them; real nodes have far fewer. */
const MOST_PORTS = 256;

function tunnelsOf(all: readonly Tunnels[]): Tunnels {
  const numbers = (list: readonly number[]) => [...new Set(list)].sort((a, b) => a - b);
  return {
    ports: numbers(all.flatMap(({ ports }) => ports)).slice(0, MOST_PORTS),
    protocols: numbers(all.flatMap(({ protocols }) => protocols)),
  };
}

/** Packets of pods are compared with each of them; real bridges have far fewer networks. */
const MOST_BROADCASTS = 16;

/** A bridge's network may be another than the node's pod networks, as one of the whole cluster. */
function otherBroadcasts(
  addresses: LinkFacts['addresses'],
  bridges: readonly number[],
  podCidrs: readonly Cidr[],
): Address[] {
  const known = broadcastsOf(podCidrs);
  const found = addresses.flatMap(({ device, broadcasts = [] }) =>
    bridges.includes(device) ? broadcasts : [],
  );
  return [...new Set(found)]
    .filter(address => !known.includes(address))
    .sort()
    .slice(0, MOST_BROADCASTS);
}

/** Every network namespace's first interface. */
const LOOPBACK = 1;

function isIn(cidrs: readonly Cidr[], address: Address): boolean {
  return cidrs.some(cidr => cidrContains(cidr, address));
}

// Frames to 01:80:c2:00:00:0e, the address of LLDP. A bridge hands them to the node by the port that they come by, and asks
// no hook (br_handle_frame): their contents reach connection tracking without passing the port's rules, so that a pod
// could make what it sends an answer, and its bridge learns from them. A bridge that forwards them asks its hooks of them
// as of any other frame, and the rules of its ports drop them (podports.ts). A program that reads LLDP on an interface of
// the node gets the frame before the bridge does.

/** The bit of 01:80:c2:00:00:0e. */
const LLDP = 1 << 0x0e;

/** Answers the names of the bridges that are others now. Throws RtnetlinkError. */
export async function askHooksOfLldp(
  socket: Pick<RtnetlinkSocket, 'dump' | 'change'>,
  bridges: readonly number[],
): Promise<readonly string[]> {
  const links = await listLinks(socket);
  const unasked = links.filter(
    ({ index, groupForward }) =>
      bridges.includes(index) && groupForward !== undefined && !(groupForward & LLDP),
  );
  await socket.change(
    unasked.map(({ index, name, groupForward }) => ({
      what: `have bridge ${name} forward LLDP`,
      write: (to, sequence) => writeGroupForward(to, sequence, index, groupForward! | LLDP),
    })),
  );
  return unasked.map(({ name }) => name);
}
