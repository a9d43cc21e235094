import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { libc } from '../netlink/wire/libc.ts';

/**
 * For a process that runs for months on every node: new objects get the space that they have at the start and no
 * more. V8 would let it grow to 48 MB in a burst of events, and never give it back (measured: 200 MB become 140 at
 * 15,000 pods, and no event takes longer). It looks for what nobody needs any more when the heap has grown by two
 * fifths, and not when it has doubled: a start with 10,000 pods has 136 MB at its peak instead of 150, and takes no more
 * time. So little space is cleared by one thread in less than it takes to wake another. Call it before there is much
 * work; V8 takes it at any time.
 */
export function keepMemorySmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--heap-growing-percent=40');
}

/**
 * Says how far the space for new objects may grow, in MB. V8 takes it before there is any code: it stands in the
 * NODE_OPTIONS of the agent.
 */
export const NEW_SPACE_OPTION = '--max-semi-space-size';

/**
 * Gives back what the start has left behind; V8 would keep it, because it looks for it when the heap has grown. From
 * now on it looks when that is by a quarter. Where it is bounded, the space for new objects grows in a burst from here
 * on, and goes back when it is calm: what an edit of a large policy makes (26 MB) lives until its end, and each time that
 * the space is cleared all of that is copied. Holds the event loop for as long as it takes to look at the whole heap
 * twice: call it once, when nothing waits.
 */
export function giveMemoryBack(): void {
  setFlagsFromString('--heap-growing-percent=25');
  if (process.env.NODE_OPTIONS?.includes(NEW_SPACE_OPTION))
    setFlagsFromString('--semi-space-growth-factor=4');
  setFlagsFromString('--expose-gc');
  const collect: (options: object) => void = runInNewContext('gc');
  collect({ type: 'major', flavor: 'last-resort' });
  trimMalloc();
}

/** What malloc keeps of what was freed: some twelve megabytes after a start with 15,000 pods. Only glibc has the call. */
function trimMalloc(): void {
  try {
    libc.func('int malloc_trim(size_t pad)')(0);
  } catch {
    // Another libc gives it back by itself, or not at all.
  }
}
