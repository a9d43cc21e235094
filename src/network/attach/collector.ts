/** Removes attachments that no living pod owns, and repairs those of living pods that another process changed. */

import type { DeviceName } from '../../kernel/netlink/route/rtnetlink.ts';
import type { Address } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { HostPorts } from '../hostports/hostports.ts';
import type { Admitted } from './admission.ts';
import { type Attachment, deviceName, type LinkOwner, type PodLink, podLabel } from './attachment.ts';
import type { NodeInterfaces } from './nodeinterfaces.ts';

export interface CollectorOptions {
  readonly links: NodeInterfaces;
  readonly ports: HostPorts;
  readonly admitted: Admitted;
  /** The pods of this node that may have an interface; undefined while the cluster cannot be read. */
  readonly livingPods: () => ReadonlySet<PodKey> | undefined;
  /** Devices that are being attached or detached now: they must not be touched. */
  readonly busy: () => ReadonlySet<DeviceName>;
  /** Runs work on a device when no other work on it is under way. */
  readonly alone: (device: DeviceName, work: () => Promise<void>) => Promise<void>;
  readonly detach: (device: DeviceName) => Promise<unknown>;
  readonly repair: (attachment: Attachment, owner: LinkOwner, addresses: readonly Address[]) => Promise<void>;
  readonly now: () => number;
  readonly log: NetworkLog;
}

export class Collector {
  readonly #options: CollectorOptions;
  #suspects: Suspects = new Map();

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  async collect(): Promise<void> {
    const { links, livingPods, busy, now, admitted } = this.#options;
    const attachments = await links.attachments();
    const pods = livingPods();
    const knowledge = { ...(pods && { pods }), busy: busy(), nowMs: now() };
    const { garbage, suspects } = garbageOf(attachments, knowledge, this.#suspects);
    this.#suspects = suspects;
    await this.#take(garbage);
    await this.#repair(attachments);
    await this.#forgetGone(admitted.missing(attachments));
    if (knowledge.busy.size === 0) await this.#collectPorts();
  }

  /** Removes attachments that the runtime does not list. */
  async collectAllBut(valid: readonly PodLink[]): Promise<void> {
    const attachments = await this.#options.links.attachments();
    await this.#take(unnamed(attachments, new Set(valid.map(deviceName)), this.#options.busy()));
  }

  async #take(garbage: readonly Garbage[]): Promise<void> {
    for (const { attachment, reason } of garbage) {
      const { device, owner, addresses } = attachment;
      await this.#options.detach(device);
      const whose = owner === undefined ? '' : ` of ${owner.pod}`;
      this.#options.log.info({ device, addresses }, `collected ${device}${whose}: ${reason}`);
    }
  }

  /** An interface that is set down loses its routes, and they do not come back when it is up again. */
  async #repair(attachments: readonly Attachment[]): Promise<void> {
    const { admitted, busy, repair, log } = this.#options;
    for (const attachment of attachments) {
      const { device } = attachment;
      const { owner, addresses = [] } = admitted.of(device) ?? {};
      const missing = addresses.filter(address => !attachment.addresses.includes(address));
      if (owner === undefined || missing.length === 0 || busy().has(device)) continue;
      const lost = `its route to ${missing.join(' and ')} was gone`;
      await repair(attachment, owner, addresses).then(
        () => log.warn({ device, missing }, `mended ${device} of ${owner.pod}: ${lost}`),
        (error: Error) => log.warn({}, `${device} of ${owner.pod} is not mended: ${error.message}`),
      );
    }
  }

  /** The kernel deletes an interface with its pod's network namespace, without a notification. */
  async #forgetGone(devices: readonly DeviceName[]): Promise<void> {
    const { links, admitted, alone, log } = this.#options;
    for (const device of devices)
      await alone(device, async () => {
        if ((await links.link(device)) !== undefined) return;
        admitted.withdraw(device);
        log.info({ device }, `collected the rules of ${device}: its namespace is gone, and it too`);
      });
  }

  // Runs only if no pod is being attached: host ports of such a pod have no attachment yet and would count as unused.
  async #collectPorts(): Promise<void> {
    const dead = await this.#options.ports.collect();
    for (const { hostPort, protocol, owner } of dead)
      this.#options.log.info(
        {},
        `collected host port ${hostPort}/${protocol} of ${owner}: no pod has its address`,
      );
  }
}

/** The logger of the pod network. */
export interface NetworkLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The facts that decide which interfaces no living pod owns. */
export interface Knowledge {
  /** Pods of this node that may have an interface, as the cluster has them; absent while it cannot be read. */
  readonly pods?: ReadonlySet<PodKey>;
  /** Devices that are being made or taken away at this moment. */
  readonly busy: ReadonlySet<DeviceName>;
  /** Milliseconds of a clock that never jumps. */
  readonly nowMs: number;
}

/** The time since which each device has looked unused. */
export type Suspects = ReadonlyMap<DeviceName, number>;

export interface Garbage {
  readonly attachment: Attachment;
  readonly reason: string;
}

/** A pod may be gone from the API for a moment before its sandbox is, and be here a moment before it is reported. */
export const GRACE_MS = 60_000;

/** The devices that have looked unused for long enough, and those that look unused now. */
export function garbageOf(
  attachments: readonly Attachment[],
  knowledge: Knowledge,
  before: Suspects,
): { readonly garbage: Garbage[]; readonly suspects: Suspects } {
  const { pods, busy, nowMs } = knowledge;
  const labels = pods && new Set([...pods].map(podLabel));
  const dead = attachments
    .filter(({ device }) => !busy.has(device))
    .map(attachment => ({ attachment, reason: reasonOf(attachment, attachments, labels) }))
    .filter((found): found is Garbage => found.reason !== undefined);
  const suspects = new Map(
    dead.map(({ attachment: { device } }) => [device, before.get(device) ?? nowMs] as const),
  );
  const garbage = dead.filter(({ attachment }) => nowMs - suspects.get(attachment.device)! >= GRACE_MS);
  return { garbage, suspects };
}

/**
 * The devices whose sandbox is not in the runtime's list. The list is complete, so they are removed without a waiting
 * time.
 */
export function unnamed(
  attachments: readonly Attachment[],
  valid: ReadonlySet<DeviceName>,
  busy: ReadonlySet<DeviceName>,
): Garbage[] {
  return attachments
    .filter(({ device }) => !valid.has(device) && !busy.has(device))
    .map(attachment => ({ attachment, reason: 'the runtime has no such sandbox' }));
}

function reasonOf(
  attachment: Attachment,
  all: readonly Attachment[],
  pods: ReadonlySet<PodKey> | undefined,
): string | undefined {
  const { owner, index } = attachment;
  if (owner === undefined) return 'it was left half made';
  const younger = all.find(
    other =>
      other.index > index && other.owner?.pod === owner.pod && other.owner.interface === owner.interface,
  );
  if (younger !== undefined) return `${younger.device} is the pod's interface now`;
  if (pods !== undefined && !pods.has(owner.pod)) return 'no such pod runs on this node';
  return undefined;
}
