import type { PodKey } from './cluster.ts';

/** The longest mark: a comment in the kernel has 128 bytes, and a pod's key may have 317. */
const MOST = 120;

/** The text by which programmed rules identify a pod: its key, cut if it is too long. */
export function podMark(key: PodKey): PodKey {
  return key.slice(0, MOST) as PodKey;
}
