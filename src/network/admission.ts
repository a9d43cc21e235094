/** What policy hears of attached pods. */
import type { Address } from '../model/address.ts';
import type { PodKey } from '../model/cluster.ts';
import type { Labels } from '../model/selector.ts';
import type { DeviceName } from '../netlink/rtnetlink.ts';
import { type Attachment, deviceName, type Owner, podLabel } from './attachment.ts';
import type { Sandbox } from './gate/sandbox.ts';

/** Policy's say about pods that come and go. */
export interface Admission {
  /** Until the pod's rules are in force. Throws NetworkError where they cannot be in time. */
  admit(sandbox: Sandbox): Promise<void>;
  /** A pod that was attached before we were there. */
  adopt(sandbox: Sandbox): void;
  /** By its id: its addresses are nobody's from here on. */
  withdraw(id: string): void;
}

/** Whose interface it is, and what else the runtime tells of the pod. */
export interface PodIdentity extends Owner {
  readonly labels?: Labels;
  readonly uid?: string;
}

/** A sandbox as policy hears of it: by the name of the node's end. */
export function sandboxOf(
  { pod, uid = '', labels, ...endpoint }: PodIdentity,
  addresses: readonly Address[],
  id = deviceName(endpoint),
): Sandbox {
  const about = { id, key: pod, uid, addresses, ownNetwork: true, attached: true };
  return { ...about, ...(labels && { labels }) };
}

/** Remembers which interfaces policy takes for attached, to take back what is gone without a word. */
export class Admitted {
  readonly #admission: Admission;
  readonly #devices = new Set<DeviceName>();

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  async admit(sandbox: Sandbox): Promise<void> {
    this.#devices.add(sandbox.id);
    await this.#admission.admit(sandbox);
  }

  /** `pods` are those that may be meant: an alias may hold a long name cut. */
  adopt(attachments: readonly Attachment[], pods: ReadonlySet<PodKey> = new Set()): void {
    const keys = new Map([...pods].map(key => [podLabel(key), key]));
    for (const { device, owner, addresses } of attachments.toSorted((a, b) => a.index - b.index)) {
      if (owner === undefined || addresses.length === 0) continue;
      this.#devices.add(device);
      this.#admission.adopt(
        sandboxOf({ ...owner, pod: keys.get(owner.pod) ?? owner.pod }, addresses, device),
      );
    }
  }

  withdraw(device: DeviceName): void {
    this.#devices.delete(device);
    this.#admission.withdraw(device);
  }

  /** Those that are not among these. */
  missing(there: readonly Attachment[]): DeviceName[] {
    const devices = new Set(there.map(({ device }) => device));
    return [...this.#devices].filter(device => !devices.has(device));
  }
}
