/** Which interfaces no living pod owns. Pure: what is known comes in, what is to be taken away comes out. */

import type { DeviceName } from '../../kernel/netlink/route/rtnetlink.ts';
import type { PodKey } from '../../model/cluster.ts';
import { type Attachment, podLabel } from './attachment.ts';

export interface Knowledge {
  /** Pods of this node that may have an interface, as the cluster has them; absent while it cannot be read. */
  readonly pods?: ReadonlySet<PodKey>;
  /** Devices that are being made or taken away at this moment. */
  readonly busy: ReadonlySet<DeviceName>;
  /** Milliseconds of a clock that never jumps. */
  readonly nowMs: number;
}

/** Since when each device has looked dead. */
export type Suspects = ReadonlyMap<DeviceName, number>;

export interface Garbage {
  readonly attachment: Attachment;
  readonly reason: string;
}

/** A pod may be gone from the API for a moment before its sandbox is, and be here a moment before it is reported. */
export const GRACE_MS = 60_000;

/** What has looked dead for long enough, and what looks dead now. */
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

/** What the runtime does not name: it knows its sandboxes, so nothing is waited for. */
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
