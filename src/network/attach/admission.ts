/** The view that policy has of attached pods. */

import type { DeviceName } from '../../kernel/netlink/route/rtnetlink.ts';
import type { Address } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { Labels } from '../../model/selector.ts';
import type { Sandbox } from '../sandboxes/sandbox.ts';
import { type Attachment, deviceName, type LinkOwner, type PodLink, podLabel } from './attachment.ts';

/** How policy admits pods that come and go. */
export interface Admission {
  /**
   * Resolves when the pod's rules are in force, and connections of the previous owner of its addresses are forgotten.
   * Throws NetworkError if that takes too long.
   */
  admit(sandbox: Sandbox): Promise<void>;
  /** A pod that was attached before we were there. */
  adopt(sandbox: Sandbox): void;
  /** Forgets the sandbox with this id: from here on its addresses belong to no pod. */
  withdraw(id: string): void;
}

/** The pod and interface that own a link, and what else the runtime reports of the pod. */
export interface PodIdentity extends LinkOwner {
  readonly labels?: Labels;
  readonly uid?: string;
}

/** An attached pod as a sandbox for policy: identified by the name of the interface at the node's side. */
export function attachedSandbox(
  { pod, uid = '', labels, ...endpoint }: PodIdentity,
  addresses: readonly Address[],
  id = deviceName(endpoint),
): Sandbox {
  const about = { id, key: pod, uid, addresses, ownNetwork: true, attached: true };
  return { ...about, ...(labels && { labels }) };
}

export interface Admittance {
  /** The sandbox may be cut, as in an alias. */
  readonly owner: LinkOwner;
  readonly addresses: readonly Address[];
}

/**
 * Remembers which interfaces policy takes for attached, so that those that disappear without a notification can be
 * withdrawn.
 */
export class Admitted {
  readonly #admission: Admission;
  readonly #sandboxes = new Map<DeviceName, Admittance>();

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  async admit(identity: PodIdentity, addresses: readonly Address[]): Promise<void> {
    const sandbox = attachedSandbox(identity, addresses);
    this.#sandboxes.set(sandbox.id, { owner: identity, addresses });
    await this.#admission.admit(sandbox);
  }

  /** `pods` are those that may be meant: an alias may hold a long name cut. */
  adopt(attachments: readonly Attachment[], pods: ReadonlySet<PodKey> = new Set()): void {
    const keys = new Map([...pods].map(key => [podLabel(key), key]));
    for (const { device, owner: written, addresses } of attachments.toSorted((a, b) => a.index - b.index)) {
      if (written === undefined || addresses.length === 0) continue;
      const owner = { ...written, pod: keys.get(written.pod) ?? written.pod };
      this.#sandboxes.set(device, { owner, addresses });
      this.#admission.adopt(attachedSandbox(owner, addresses, device));
    }
  }

  withdraw(device: DeviceName): void {
    this.#sandboxes.delete(device);
    this.#admission.withdraw(device);
  }

  /** The owner of a device and its addresses; undefined if it was not admitted. */
  of(device: DeviceName): Admittance | undefined {
    return this.#sandboxes.get(device);
  }

  /** The other interface that the sandbox has already. */
  otherThan({ sandbox, interface: name }: PodLink): LinkOwner | undefined {
    const found = [...this.#sandboxes].find(
      ([device, { owner }]) =>
        owner.interface !== name &&
        sandbox.startsWith(owner.sandbox) &&
        device === deviceName({ sandbox, interface: owner.interface }),
    );
    return found?.[1].owner;
  }

  /** The admitted devices that are not in this list. */
  missing(there: readonly Attachment[]): DeviceName[] {
    const devices = new Set(there.map(({ device }) => device));
    return [...this.#sandboxes.keys()].filter(device => !devices.has(device));
  }
}
