/**
 * Attaches pods to the network and detaches them. The state is in the kernel alone, so a repeated request finds the
 * result of an earlier one, also if the earlier process was killed in the middle of it.
 */
import { closeSync } from 'node:fs';
import { RtnetlinkError, RtnetlinkSocket } from '../../kernel/netlink/route/rtnetlink-socket.ts';
import { sleep } from '../../lib/async/sleep.ts';
import type { Address, Cidr, Family } from '../../model/address.ts';
import { familyOf } from '../../model/address.ts';
import type { Mac } from '../../model/mac.ts';
import { LINK_GROUP } from '../../model/podlinks.ts';
import { NetworkError } from '../error.ts';
import { type Attachment, deviceName, isOf, type LinkOwner, macs, podLabel } from './attachment.ts';
import type { NamespaceHelper, OpenNamespace } from './helper.ts';
import { allocate, exhaustedText } from './ipam.ts';
import { isListening, linkOf, type NodeInterfaces } from './nodeinterfaces.ts';
import { nodeSteps, podSteps } from './wiring.ts';

export interface AttachRequest extends LinkOwner {
  /** Path of the pod's network namespace. */
  readonly namespace: string;
}

/** The networks and addresses from which the node gives its pods theirs. */
export interface NodePlan {
  readonly podCidrs: readonly Cidr[];
  readonly mtu: number;
  /** The node's own addresses, the one that its pods shall see first. */
  readonly sources: readonly Address[];
}

export interface Attached {
  /** The node's end. */
  readonly device: string;
  readonly interface: string;
  /** The pod's end. */
  readonly mac: Mac;
  readonly nodeMac: Mac;
  readonly addresses: readonly Address[];
  readonly mtu: number;
}

/** How often an address is chosen again because another process took it between our look and our attempt. */
const MOST_ATTEMPTS = 10;
const PATIENCE_MS = 3000;

export class Attacher {
  readonly #links: NodeInterfaces;
  readonly #helper: NamespaceHelper;
  readonly #claimed: () => readonly Address[];
  /** Given out at this moment, and not in the kernel yet. */
  readonly #reserved = new Set<Address>();
  readonly #last = new Map<Family, Address>();

  /**
   * `claimed` are addresses that must not be given out even if the kernel does not have them: living pods are known to
   * have them.
   */
  constructor(links: NodeInterfaces, helper: NamespaceHelper, claimed: () => readonly Address[] = () => []) {
    this.#links = links;
    this.#helper = helper;
    this.#claimed = claimed;
  }

  /**
   * Throws NetworkError. The parts that exist by then remain, and the caller keeps or removes them. `before` are the
   * addresses that the interface was given earlier, if it was: another process may have deleted its routes.
   */
  async wire(request: AttachRequest, plan: NodePlan, before: readonly Address[] = []): Promise<Attached> {
    const inside = await this.#open(request.namespace);
    const socket = new RtnetlinkSocket(inside.socket);
    try {
      return await this.#wirePair(request, plan, before, inside, socket);
    } catch (error) {
      throw asNetworkError(error, request);
    } finally {
      socket.close();
      closeSync(inside.namespace);
    }
  }

  async #open(path: string): Promise<OpenNamespace> {
    return this.#helper.open(path).catch(error => {
      throw new NetworkError('invalid', (error as Error).message, error);
    });
  }

  async #wirePair(
    request: AttachRequest,
    plan: NodePlan,
    before: readonly Address[],
    inside: OpenNamespace,
    socket: RtnetlinkSocket,
  ): Promise<Attached> {
    const device = deviceName(request);
    const mac = macs(request);
    const actual = await this.#links.attachment(device);
    requireSameOwner(actual, request);
    if (actual === undefined) {
      await this.#links.create({
        name: device,
        mac: mac.node,
        mtu: plan.mtu,
        group: LINK_GROUP,
        peer: { name: request.interface, mac: mac.pod, namespace: inside.namespace },
      });
    }
    const [node, pod] = await Promise.all([this.#links.link(device), linkOf(socket, request.interface)]);
    if (node === undefined || pod === undefined || pod.mac !== mac.pod)
      throw new NetworkError(
        'conflict',
        `${request.interface} of ${request.namespace} is not the other end of ${device}: sandbox ${request.sandbox} of ${request.pod} has another network namespace; detach it first`,
      );
    const own = actual === undefined ? [] : [...new Set([...before, ...actual.addresses])];
    const addresses = await this.#wireNode(request, plan, node.index, own);
    await socket.change(podSteps({ index: pod.index, nodeMac: node.mac, addresses }));
    await this.#carries(device, socket, request, addresses);
    return {
      device,
      interface: request.interface,
      mac: mac.pod,
      nodeMac: node.mac,
      addresses,
      mtu: node.mtu,
    };
  }

  /**
   * An interface that is up drops packets until the kernel has attached its queue, which happens a little later; asking
   * for the interface makes it happen sooner. The same holds for a pod that has an IPv6 address and no local route to
   * it yet: a kernel worker adds that route later, even without duplicate address detection (addrconf_dad_work()).
   */
  async #carries(
    device: string,
    socket: RtnetlinkSocket,
    { pod, interface: name }: AttachRequest,
    addresses: readonly Address[],
  ) {
    for (const deadlineMs = performance.now() + PATIENCE_MS; ; await sleep(1)) {
      const [node, inside] = await Promise.all([
        this.#links.link(device),
        isListening(socket, name, addresses),
      ]);
      if (node?.running && inside) return;
      const message = `${pod}: the link between ${device} and ${name} does not come up`;
      if (performance.now() > deadlineMs) throw new NetworkError('unavailable', message);
    }
  }

  /** Repairs the interface at the node's side, if another process has changed it. */
  async repair(
    owner: LinkOwner,
    { sources }: NodePlan,
    index: number,
    addresses: readonly Address[],
  ): Promise<void> {
    const end = { owner, index, podMac: macs(owner).pod, sources, addresses };
    await this.#links.change(nodeSteps(end, 'replace'));
  }

  /** Gives the pod its addresses: those that it has already, or new ones. */
  async #wireNode(
    owner: LinkOwner,
    { podCidrs, sources }: NodePlan,
    index: number,
    actual: readonly Address[],
  ): Promise<readonly Address[]> {
    const end = { owner, index, podMac: macs(owner).pod, sources };
    const families = new Set(podCidrs.map(({ family }) => family));
    if (actual.length >= families.size && families.size > 0) {
      await this.#links.change(nodeSteps({ ...end, addresses: actual }, 'replace'));
      return actual;
    }
    for (let attempt = 1; ; attempt++) {
      const addresses = await this.#reserve(owner, podCidrs, actual);
      try {
        await this.#links.change(nodeSteps({ ...end, addresses }, actual.length > 0 ? 'replace' : 'refuse'));
        return addresses;
      } catch (error) {
        const taken = error instanceof RtnetlinkError && error.code === 'EEXIST';
        if (!taken || attempt === MOST_ATTEMPTS) throw error;
      } finally {
        for (const address of addresses) this.#reserved.delete(address);
      }
    }
  }

  /** One address for each family that has none yet. */
  async #reserve(
    { pod }: LinkOwner,
    podCidrs: readonly Cidr[],
    actual: readonly Address[],
  ): Promise<readonly Address[]> {
    const served = new Set(actual.map(familyOf));
    const wanted = podCidrs.filter(({ family }) => !served.has(family));
    const taken = await this.#links.taken();
    // There is no await from here to the end, so no other request can choose an address at the same time.
    for (const address of [...this.#reserved, ...this.#claimed()]) taken.add(address);
    const found = allocate(wanted, taken, this.#last);
    if ('exhausted' in found)
      throw new NetworkError(
        'exhausted',
        `no address for ${pod}: ${exhaustedText(found.exhausted)}; delete a pod of this node, or give the node a larger pod CIDR`,
      );
    for (const address of found.addresses) {
      this.#reserved.add(address);
      this.#last.set(familyOf(address), address);
    }
    return [...actual, ...found.addresses].sort((a, b) => Number(a.includes(':')) - Number(b.includes(':')));
  }
}

function requireSameOwner(actual: Attachment | undefined, request: AttachRequest): void {
  if (actual?.owner === undefined) return;
  const { owner } = actual;
  if (isOf(owner, request) && owner.pod === podLabel(request.pod)) return;
  throw new NetworkError(
    'conflict',
    `${actual.device} belongs to ${owner.interface} of sandbox ${owner.sandbox} of ${owner.pod}`,
  );
}

function asNetworkError(error: unknown, { pod, interface: name, namespace }: AttachRequest): Error {
  if (!(error instanceof RtnetlinkError)) return error as Error;
  if (error.code === 'EEXIST')
    return new NetworkError(
      'conflict',
      `${pod}: ${namespace} has an interface ${name} already that Sluice did not make; nothing was changed`,
      error,
    );
  return new NetworkError('unavailable', `${pod} could not be attached: ${error.message}`, error);
}
