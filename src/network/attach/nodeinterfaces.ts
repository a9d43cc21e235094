/** The node's side of the pod network, as it is in the kernel: read anew at every question, but for routes. */

import { ChangeWatch } from '../../kernel/netlink/route/routewatch.ts';
import {
  type DeviceName,
  type Route,
  type VethPair,
  writeDelLink,
  writeDelRoute,
  writeGetAddresses,
  writeGetLink,
  writeGetRoutes,
  writeGetRouteTo,
  writeNewVeth,
} from '../../kernel/netlink/route/rtnetlink.ts';
import {
  type Link,
  readDeviceAddress,
  readLink,
  readRoute,
  readRouteOfMain,
} from '../../kernel/netlink/route/rtnetlink-read.ts';
import {
  listLinks,
  NO_ROUTE,
  type RouteStep,
  RtnetlinkError,
  RtnetlinkSocket,
} from '../../kernel/netlink/route/rtnetlink-socket.ts';
import { type Address, type Cidr, FAMILIES, type Family } from '../../model/address.ts';
import { type Attachment, isDeviceName, ownerInAlias } from './attachment.ts';
import { PROTOCOL } from './wiring.ts';

/** Kernel calls that wait for others take one of the four threads of the pool each. */
const CHANGERS = 2;

export class NodeInterfaces {
  readonly #reader = new RtnetlinkSocket();
  readonly #changers = Array.from({ length: CHANGERS }, () => new RtnetlinkSocket());
  readonly #watch = new ChangeWatch();
  readonly #table = new RouteTable({
    dump: () => this.#dumpRoutes(),
    hasChanged: () => this.#watch.hasChanged(),
  });
  #turn = 0;

  /** Every interface of ours, also incomplete ones. */
  async attachments(): Promise<Attachment[]> {
    const [links, routes] = [await this.links(), await this.routes()];
    return links.filter(({ name }) => isDeviceName(name)).map(link => attachmentOf(link, routes));
  }

  async attachment(device: DeviceName): Promise<Attachment | undefined> {
    const link = await this.link(device);
    return link && attachmentOf(link, await this.routes());
  }

  link(device: DeviceName): Promise<Link | undefined> {
    return linkOf(this.#reader, device);
  }

  links(): Promise<Link[]> {
    return listLinks(this.#reader);
  }

  /** Every route that Sluice made; the same array as before where nothing has changed since. */
  routes(): Promise<readonly Route[]> {
    return this.#table.routes();
  }

  /** The addresses that are taken: those that lead to a pod, and those of the node's own interfaces. */
  async taken(): Promise<Set<Address>> {
    const own = await this.ownAddresses();
    return new Set([...own.map(({ address }) => address), ...(await this.given())]);
  }

  /** The addresses that lead to a pod. */
  async given(): Promise<Set<Address>> {
    return new Set((await this.routes()).filter(isPodRoute).map(({ destination }) => destination.base));
  }

  ownAddresses() {
    return this.#reader.dump({ what: 'list addresses', write: writeGetAddresses }, readDeviceAddress);
  }

  /** The kernel's route to an address; undefined where there is none. */
  routeTo(address: Address): Promise<Route | undefined> {
    return routeTo(this.#reader, address);
  }

  /** Throws RtnetlinkError with EEXIST where one of the two names is taken. */
  create(pair: VethPair): Promise<void> {
    return this.change([
      {
        what: `make ${pair.name} and ${pair.peer.name}`,
        write: (to, sequence) => writeNewVeth(to, sequence, pair),
      },
    ]);
  }

  /** Takes the interface away, with its routes and the pod's end. Answers whether it was there. */
  remove(index: number): Promise<boolean> {
    return this.#removeIfThere({
      what: 'remove an interface',
      write: (to, sequence) => writeDelLink(to, sequence, index),
    });
  }

  removeRoute(route: Route): Promise<boolean> {
    const { base, prefix } = route.destination;
    return this.#removeIfThere({
      what: `remove the route to ${base}/${prefix}`,
      write: (to, sequence) => writeDelRoute(to, sequence, route),
    });
  }

  change(steps: readonly RouteStep[]): Promise<void> {
    this.#turn++;
    return this.#changers[this.#turn % CHANGERS]!.change(steps);
  }

  close(): void {
    for (const socket of [this.#reader, ...this.#changers, this.#watch]) socket.close();
  }

  async #removeIfThere(step: RouteStep): Promise<boolean> {
    try {
      await this.change([step]);
      return true;
    } catch (error) {
      if (error instanceof RtnetlinkError && GONE.has(error.code)) return false;
      throw error;
    }
  }

  async #dumpRoutes(): Promise<Route[]> {
    const found: Route[] = [];
    for (const family of FAMILIES) found.push(...(await this.#routesOf(family)));
    return found;
  }

  async #routesOf(family: Family): Promise<Route[]> {
    const routes = await this.#reader.dump(
      {
        what: 'list routes',
        write: (to, sequence) => writeGetRoutes(to, sequence, family, PROTOCOL),
      },
      readRouteOfMain,
    );
    return routes.filter(({ protocol }) => protocol === PROTOCOL);
  }
}

const GONE = new Set(['ENODEV', 'ENOENT', 'ESRCH']);

/** One interface of the socket's namespace, by name. */
export function linkOf(socket: RtnetlinkSocket, device: DeviceName): Promise<Link | undefined> {
  return socket.get(linkStep(device), readLink);
}

function linkStep(device: DeviceName): RouteStep {
  return {
    what: `look for ${device}`,
    write: (to, sequence) => writeGetLink(to, sequence, device),
  };
}

/** The kernel's route to an address from the socket's namespace; undefined where there is none. */
function routeTo(socket: RtnetlinkSocket, address: Address): Promise<Route | undefined> {
  return socket.get(routeQuery(address), readRoute);
}

function routeQuery(address: Address): RouteStep {
  return {
    what: `ask the way to ${address}`,
    absent: NO_ROUTE,
    write: (to, sequence) => writeGetRouteTo(to, sequence, address),
  };
}

/** Whether a device of the socket's namespace carries packets, and the namespace accepts packets to these addresses. */
export async function isListening(
  socket: RtnetlinkSocket,
  device: DeviceName,
  addresses: readonly Address[],
): Promise<boolean> {
  const answers = await socket.getEach([linkStep(device), ...addresses.map(routeQuery)], (message, index) =>
    index === 0 ? readLink(message)?.running : readRoute(message)?.type === 'local',
  );
  return answers.every(answer => answer === true);
}

function attachmentOf({ name, index, mac, alias }: Link, routes: readonly Route[]): Attachment {
  const owner = ownerInAlias(alias);
  const addresses = routes
    .filter(route => route.device === index && isPodRoute(route))
    .map(({ destination }) => destination.base);
  return { device: name, index, mac, addresses, ...(owner && { owner }) };
}

function isPodRoute({ destination, device, gateway }: Route): boolean {
  return device !== undefined && gateway === undefined && isHost(destination);
}

function isHost({ family, prefix }: Cidr): boolean {
  return prefix === (family === 'ip' ? 32 : 128);
}

/**
 * The routes that Sluice made, as they are in the kernel. With thousands of nodes, reading them would be most of the
 * work of an idle agent, so they are read again only after a change of the node's network, and after some minutes in
 * any case.
 */
const KEPT_MS = 300_000;

interface RouteTableOptions {
  readonly dump: () => Promise<readonly Route[]>;
  /** Whether anything has changed since it was last asked. */
  readonly hasChanged: () => boolean;
  readonly now?: () => number;
}

export class RouteTable {
  readonly #options: Required<RouteTableOptions>;
  #kept: { readonly routes: Promise<readonly Route[]>; readonly untilMs: number } | undefined;

  constructor(options: RouteTableOptions) {
    this.#options = { now: () => performance.now(), ...options };
  }

  /**
   * The routes after everything that was done before the call. The same array as before means that nothing has changed.
   */
  async routes(): Promise<readonly Route[]> {
    const { dump, hasChanged, now } = this.#options;
    // Called in any case, so that changes up to now are not reported again after this reading.
    if (hasChanged() || this.#kept === undefined || this.#kept.untilMs <= now()) {
      const kept = { routes: dump(), untilMs: now() + KEPT_MS };
      this.#kept = kept;
      kept.routes.catch(() => {
        if (this.#kept === kept) this.#kept = undefined;
      });
    }
    return this.#kept.routes;
  }
}
