/** Takes away what no living pod owns, and mends what somebody took of those that do. */

import type { DeviceName } from '../../kernel/netlink/route/rtnetlink.ts';
import type { Address } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { HostPorts } from '../hostports/hostports.ts';
import type { Admitted } from './admission.ts';
import { type Attachment, deviceName, type LinkOwner, type PodLink } from './attachment.ts';
import { type Garbage, garbageOf, type Suspects, unnamed } from './garbage.ts';
import type { NetworkLog } from './networklog.ts';
import type { NodeInterfaces } from './nodeinterfaces.ts';

export interface CollectorOptions {
  readonly links: NodeInterfaces;
  readonly ports: HostPorts;
  readonly admitted: Admitted;
  /** The pods of this node that may have an interface; undefined while the cluster cannot be read. */
  readonly livingPods: () => ReadonlySet<PodKey> | undefined;
  /** Devices that are being attached or detached: nobody else's to touch. */
  readonly busy: () => ReadonlySet<DeviceName>;
  /** Runs when nobody else works on the device. */
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

  /** Takes away what the runtime does not name. */
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

  /** Whoever sets an interface down takes its routes, and they do not come back when it is up again. */
  async #repair(attachments: readonly Attachment[]): Promise<void> {
    const { admitted, busy, repair, log } = this.#options;
    for (const attachment of attachments) {
      const { device } = attachment;
      const { owner, addresses = [] } = admitted.of(device) ?? {};
      const missing = addresses.filter(address => !attachment.addresses.includes(address));
      if (owner === undefined || missing.length === 0 || busy().has(device)) continue;
      const lost = `somebody took its route to ${missing.join(' and ')}`;
      await repair(attachment, owner, addresses).then(
        () => log.warn({ device, missing }, `mended ${device} of ${owner.pod}: ${lost}`),
        (error: Error) => log.warn({}, `${device} of ${owner.pod} is not mended: ${error.message}`),
      );
    }
  }

  /** The kernel takes an interface away with its pod's namespace, and notifies nobody. */
  async #forgetGone(devices: readonly DeviceName[]): Promise<void> {
    const { links, admitted, alone, log } = this.#options;
    for (const device of devices)
      await alone(device, async () => {
        if ((await links.link(device)) !== undefined) return;
        admitted.withdraw(device);
        log.info({ device }, `collected the rules of ${device}: its namespace is gone, and it too`);
      });
  }

  // Only while nobody is being attached: the ports of a pod that is would lead to nobody yet.
  async #collectPorts(): Promise<void> {
    const dead = await this.#options.ports.collect();
    for (const { hostPort, protocol, owner } of dead)
      this.#options.log.info(
        {},
        `collected host port ${hostPort}/${protocol} of ${owner}: nobody has its address`,
      );
  }
}
