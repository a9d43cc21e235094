/**
 * The pod network of this node: fulfils the requests of a runtime in the kernel, in step with policy.
 *
 *     attach   interface, addresses, routes ─▶ the pod's rules are committed ─▶ answer
 *     detach   the addresses belong to no pod ─▶ the interface is deleted, with its addresses and routes
 *     collect  the same for attachments that no living pod owns
 */

import type { DeviceName } from '../../kernel/netlink/route/rtnetlink.ts';
import { KeyedQueue } from '../../lib/async/keyedqueue.ts';
import type { Address } from '../../model/address.ts';
import type { Cluster, PodKey } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { NetworkError } from '../error.ts';
import type { HostPort, HostPorts } from '../hostports/hostports.ts';
import { NodeRouting } from '../routes/noderoutes.ts';
import { type Admission, Admitted, type PodIdentity } from './admission.ts';
import { type Attached, Attacher, type AttachRequest, type NodePlan } from './attacher.ts';
import { type Attachment, deviceName, type LinkOwner, type PodLink, podLabel } from './attachment.ts';
import { CachedPlan } from './cachedplan.ts';
import { Collector, type NetworkLog } from './collector.ts';
import type { NamespaceHelper } from './helper.ts';
import { NetworkUnavailableWatch } from './networkunavailable.ts';
import type { NodeInterfaces } from './nodeinterfaces.ts';

export interface PodRequest extends AttachRequest, PodIdentity {
  readonly hostPorts: readonly HostPort[];
}

export interface PodNetworkOptions {
  readonly node: string;
  readonly links: NodeInterfaces;
  readonly helper: NamespaceHelper;
  readonly ports: HostPorts;
  readonly admission: Admission;
  readonly cluster: () => Cluster;
  /** The pods of this node that may have an interface; undefined while the cluster cannot be asked. */
  readonly livingPods: () => ReadonlySet<PodKey> | undefined;
  /** Addresses that pods of this node have according to any source: the kernel may have lost one. */
  readonly claimed?: () => readonly Address[];
  /** Why no rules are in force yet, without which no pod is attached; undefined where they are. */
  readonly unprogrammed?: () => NetworkError | undefined;
  /** Called when the reason changes why the node cannot take further pods; undefined: there is none. */
  readonly onNetworkUnavailable?: (unavailable: NetworkError | undefined) => void;
  readonly log: NetworkLog;
  readonly now?: () => number;
}

const TIDY_MS = 30_000;
const SOON_MS = 500;

export class PodNetwork {
  /** Makes and opens network namespaces. */
  readonly helper: NamespaceHelper;
  /** Resolves when pods can be attached: the node has networks for them, and everything that attaching needs. */
  readonly ready: Promise<void>;
  readonly #becomeReady: () => void;
  readonly #options: PodNetworkOptions;
  readonly #attacher: Attacher;
  readonly #now: () => number;
  readonly #inTurn = new KeyedQueue<DeviceName>();
  readonly #sandboxes = new KeyedQueue<string>();
  readonly #unavailable: NetworkUnavailableWatch;
  readonly #admitted: Admitted;
  readonly #routing: NodeRouting;
  readonly #collector: Collector;
  readonly #plan: CachedPlan;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;

  constructor(options: PodNetworkOptions) {
    this.#options = options;
    this.helper = options.helper;
    this.#attacher = new Attacher(options.links, options.helper, options.claimed);
    this.#admitted = new Admitted(options.admission);
    this.#routing = new NodeRouting(options.links, options.node);
    this.#now = options.now ?? (() => performance.now());
    this.#plan = new CachedPlan({ ...options, now: this.#now });
    this.#unavailable = new NetworkUnavailableWatch(
      () => this.unavailable(),
      options.onNetworkUnavailable ?? (() => {}),
    );
    this.#collector = new Collector({
      ...options,
      now: this.#now,
      admitted: this.#admitted,
      busy: () => this.#inTurn.busy,
      alone: (device, work) => this.#inTurn.run(device, work),
      detach: device => this.#detach(device),
      repair: (attachment, owner, addresses) => this.#repair(attachment, owner, addresses),
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ready = promise;
    this.#becomeReady = resolve;
  }

  /** Reports to policy the pods that are attached already, and collects from time to time. Never throws. */
  async start(): Promise<void> {
    await this.#trying('pods that were attached before are not known', () => this.#adopt());
    void this.#trying('the first pod waits for longer', () => this.helper.ready());
    const tidy = async () => {
      await this.#prepare();
      await this.#trying('nothing was collected', () => this.collect());
    };
    await tidy();
    this.#timer = setInterval(tidy, TIDY_MS);
    this.#timer.unref();
  }

  /** Nodes have been added, deleted or changed: updates routes, once for many changes. */
  nodesChanged(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      void this.#prepare();
    }, SOON_MS).unref();
  }

  /** Makes or repairs what the node needs for its pods besides rules: routes to the pods of other nodes. */
  async setUp(): Promise<void> {
    await this.#routing.follow([...this.#options.cluster().nodes.values()]);
  }

  /** Checks again whether the node can take further pods. */
  recheck(): void {
    this.#unavailable.look();
  }

  close(): void {
    this.#unavailable.close();
    clearTimeout(this.#soon);
    clearInterval(this.#timer);
  }

  /**
   * Resolves when the pod's rules are in force. Repeated, it gives the same answer. Throws NetworkError, and then
   * removes everything that it made.
   */
  attach(request: PodRequest): Promise<Attached> {
    const attaching = () => this.#changing(deviceName(request), () => this.#attachOrUndo(request));
    return this.#sandboxes.run(request.sandbox, attaching).catch(error => {
      this.#options.log.warn({}, `${request.pod} is not attached: ${(error as Error).message}`);
      throw error;
    });
  }

  async #attachOrUndo(request: PodRequest): Promise<Attached> {
    const other = this.#admitted.otherThan(request);
    if (other !== undefined)
      throw new NetworkError(
        'unsupported',
        `sandbox ${request.sandbox} of ${request.pod} has ${other.interface} already: Sluice gives a pod one interface`,
      );
    const device = deviceName(request);
    const before = await this.#options.links.link(device);
    try {
      return await this.#attachUnderRules(request);
    } catch (error) {
      // A device that cannot be removed now is left to the collector.
      if (before === undefined) await this.#takeAway(device).catch(() => {});
      throw error;
    }
  }

  async #attachUnderRules(request: PodRequest): Promise<Attached> {
    const before = this.#admitted.of(deviceName(request))?.addresses;
    const attached = await this.#attacher.wire(request, await this.plan(), before);
    const { device, addresses } = attached;
    const { ports } = this.#options;
    await ports.claim(request.pod, request.hostPorts, addresses);
    await this.#admitted.admit(request, addresses);
    if (request.hostPorts.length > 0 || ports.isSettling) await ports.settle();
    this.#options.log.info({ device, addresses }, `attached ${request.pod} to ${device}`);
    return attached;
  }

  /** Harmless where there is nothing. */
  detach(endpoint: PodLink): Promise<void> {
    return this.#detachSaying(deviceName(endpoint));
  }

  /** Every interface of a sandbox, also one that is being attached. */
  detachSandbox(sandbox: string): Promise<void> {
    return this.#sandboxes.run(sandbox, () => this.#detachSandbox(sandbox));
  }

  async #detachSandbox(sandbox: string): Promise<void> {
    const all = await this.#options.links.attachments();
    // Compared by the name, which is made of the whole id: an alias may hold only the beginning of one.
    const its = all.filter(
      ({ device, owner }) => owner && device === deviceName({ sandbox, interface: owner.interface }),
    );
    await Promise.all(its.map(({ device }) => this.#detachSaying(device)));
  }

  async attachmentsOf(pod: PodKey): Promise<Attachment[]> {
    const all = await this.#options.links.attachments();
    return all.filter(({ owner }) => owner?.pod === podLabel(pod));
  }

  /** Throws NetworkError where an interface of a sandbox is not as it was made. */
  async check(endpoint: PodLink): Promise<Attachment> {
    const found = await this.#options.links.attachment(deviceName(endpoint));
    const given = this.#admitted.of(deviceName(endpoint))?.addresses ?? [];
    const lost = given.some(address => !found?.addresses.includes(address));
    if (found?.owner === undefined || found.addresses.length === 0 || lost)
      throw new NetworkError(
        'conflict',
        `${endpoint.interface} of sandbox ${endpoint.sandbox} is not attached, or only half`,
      );
    return found;
  }

  /** Removes attachments that no living pod owns. */
  collect(): Promise<void> {
    return this.#collector.collect();
  }

  /** Removes attachments that the runtime does not list. */
  collectAllBut(valid: readonly PodLink[]): Promise<void> {
    return this.#collector.collectAllBut(valid);
  }

  /** The reasons why further pods cannot be attached. */
  async facts(): Promise<{ readonly refuses?: string; readonly unreachable: readonly string[] }> {
    const refuses = (await this.unavailable())?.message;
    return { ...(refuses !== undefined && { refuses }), unreachable: this.#routing.unreachable };
  }

  /** Why the node takes no further pod; undefined while it does. */
  async unavailable(): Promise<NetworkError | undefined> {
    const { unprogrammed, claimed } = this.#options;
    return unprogrammed?.() ?? this.#plan.exhausted(claimed?.() ?? []);
  }

  /** The networks and addresses that the node has for its pods now. Throws NetworkError if it has none. */
  plan(): Promise<NodePlan> {
    return this.#plan.now();
  }

  /** Whether an address lies in the networks that this node gives to its pods. */
  podCidrs() {
    return podCidrsOf(this.#options.cluster().nodes.get(this.#options.node));
  }

  /** One device's changes come one after the other, and may give or take addresses. */
  #changing<T>(device: DeviceName, work: () => Promise<T>): Promise<T> {
    return this.#inTurn.run(device, work).finally(() => this.#unavailable.look());
  }

  async #prepare(): Promise<void> {
    await this.#trying('what attached pods need is not all there', async () => {
      await this.setUp();
      await this.plan();
      this.#becomeReady();
    });
    this.#unavailable.look();
  }

  async #adopt(): Promise<void> {
    const { links, livingPods } = this.#options;
    this.#admitted.adopt(await links.attachments(), livingPods());
  }

  /** Restores what another process removed from an interface. */
  #repair({ device, index }: Attachment, owner: LinkOwner, addresses: readonly Address[]): Promise<void> {
    return this.#changing(device, async () =>
      this.#attacher.repair(owner, await this.plan(), index, addresses),
    );
  }

  async #trying(consequence: string, work: () => Promise<void>): Promise<void> {
    await work().catch((error: Error) => this.#options.log.warn({}, `${consequence}: ${error.message}`));
  }

  async #detachSaying(device: DeviceName): Promise<void> {
    const found = await this.#detach(device);
    if (found?.owner === undefined) return;
    const { owner, addresses } = found;
    this.#options.log.info({ device, addresses }, `detached ${owner.pod} from ${device}`);
  }

  /** Detaches a device; returns the attachment that there was. */
  #detach(device: DeviceName): Promise<Attachment | undefined> {
    return this.#changing(device, () => this.#takeAway(device));
  }

  async #takeAway(device: DeviceName): Promise<Attachment | undefined> {
    const found = await this.#options.links.attachment(device);
    const given = this.#admitted.of(device)?.addresses ?? [];
    const addresses = [...new Set([...given, ...(found?.addresses ?? [])])];
    if (addresses.length > 0) await this.#options.ports.release(addresses);
    this.#admitted.withdraw(device);
    this.#options.ports.publish();
    if (found !== undefined) await this.#options.links.remove(found.index);
    return found;
  }
}
