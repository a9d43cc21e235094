import type { PodKey } from './cluster.ts';

/** Of a comment in the kernel, which takes 128 bytes: a pod's name may have 317. */
const MOST = 120;

/** By what rules that are programmed know a pod: its name, or as much of the beginning as they keep. */
export function podMark(key: PodKey): PodKey {
  return key.slice(0, MOST) as PodKey;
}
