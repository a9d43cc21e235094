import { readFileSync, realpathSync } from 'node:fs';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { libc } from '../netlink/wire/libc.ts';

/**
 * Settings for a process that runs for months on every node. The space for new objects keeps its initial size. V8 would
 * let it grow to 48 MB in a burst of events and never shrink it (measured: 200 MB become 140 with 15,000 pods, and no
 * event takes longer). Garbage is collected when the heap has grown by two fifths instead of doubled: a start with
 * 10,000 pods peaks at 136 MB instead of 150, in the same time. One thread clears so small a space faster than another
 * one wakes up, so there is only one. Call it before there is much work; V8 accepts it at any time.
 */
export function keepMemorySmall(): void {
  setGrowthFactor(growthFactor);
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--heap-growing-percent=40');
}

/**
 * The option that limits the space for new objects, in MB. V8 reads it before any code runs, so it is in the agent's
 * NODE_OPTIONS.
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
  if (process.env.NODE_OPTIONS?.includes(NEW_SPACE_OPTION)) growthFactor = 4;
  setGrowthFactor(growthFactor);
  setFlagsFromString('--expose-gc');
  const collect: (options: object) => void = runInNewContext('gc');
  collect({ type: 'major', flavor: 'last-resort' });
  trimMalloc();
}

/** By how much the space for new objects may grow at a time, except during work that is done sparingly. */
let growthFactor = 1;

function setGrowthFactor(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

/**
 * Does work that makes much garbage and keeps little of it, such as reading all rules back. The space for new objects does
 * not grow meanwhile, because V8 would keep its pages (6 MB with 15,000 pods). What malloc has kept is returned some time
 * later (another 6 MB): threads of V8 go on for a while.
 */
export async function sparingly<T>(work: () => Promise<T>): Promise<T> {
  if (growthFactor > 1) setGrowthFactor(1);
  try {
    return await work();
  } finally {
    if (growthFactor > 1) setGrowthFactor(growthFactor);
    if (trimming === undefined) trimming = setTimeout(trimLater, TRIM_AFTER_MS).unref();
  }
}

const TRIM_AFTER_MS = 10_000;
let trimming: NodeJS.Timeout | undefined;

function trimLater(): void {
  trimming = undefined;
  trimMalloc();
}

export interface MemoryLimits {
  /** Bytes that V8 lets its heap have. */
  readonly heapLimit: number;
  /** Bytes that the cgroup of this process may have; absent where it has no limit. */
  readonly limit?: number | undefined;
}

/** Without a limit the kernel reports a number beyond any machine, and Node.js reports zero if it cannot know. */
export function memoryLimits(limit = process.constrainedMemory()): MemoryLimits {
  const { heap_size_limit: heapLimit } = getHeapStatistics();
  return { heapLimit, ...(limit > 0 && limit < Number.MAX_SAFE_INTEGER && { limit }) };
}

let mallocTrim: ReturnType<typeof libc.func> | undefined;

/**
 * Returns memory that malloc keeps after it was freed: some twelve megabytes after a start with 15,000 pods. Only glibc
 * has the call.
 */
function trimMalloc(): void {
  try {
    mallocTrim ??= libc.func('int malloc_trim(size_t pad)');
    mallocTrim(0);
  } catch {
    // Another libc gives it back by itself, or not at all.
  }
}

const MADV_DONTNEED = 4;

/**
 * Takes the pages of Node's own file that the start needed out of this process: some thirty megabytes of code and data,
 * most of which nothing needs again. They stay in the kernel's page cache, and one that is needed comes back by a minor
 * fault, without reading the disk. So the resident memory of the process falls at once; the machine gets the memory only
 * when it is short of it, as with any page of a file. Call it once: the pages belong to all threads of the process.
 */
export function dropPagesOfProgram(): void {
  try {
    const madvise = libc.func('int madvise(uintptr_t address, size_t length, int advice)');
    const program = realpathSync('/proc/self/exe');
    for (const { start, length } of unwrittenMappings(readFileSync('/proc/self/smaps', 'utf8'), program))
      madvise(start, length, MADV_DONTNEED);
  } catch {
    // No /proc, or another libc: the pages stay.
  }
}

/** One mapping of smaps(5): its header, and the sizes that show whether a page was written. */
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+ *(.*)$/;
const WRITTEN = /^(?:Private_Dirty|Anonymous|Swap): +[1-9]/;

/**
 * The read-only mappings of a file without any page that was ever written: dropping a written page, such as one with
 * relocations, would lose its contents. Exported for its test.
 */
export function unwrittenMappings(smaps: string, file: string): { start: number; length: number }[] {
  const found: { start: number; length: number }[] = [];
  let isCandidate = false;
  for (const line of smaps.split('\n')) {
    const mapping = MAPPING.exec(line);
    if (mapping !== null) {
      const [start, end] = [mapping[1]!, mapping[2]!].map(digits => Number.parseInt(digits, 16)) as [
        number,
        number,
      ];
      isCandidate = mapping[3]!.startsWith('r-') && mapping[4] === file;
      if (isCandidate) found.push({ start, length: end - start });
    } else if (isCandidate && WRITTEN.test(line)) {
      found.pop();
      isCandidate = false;
    }
  }
  return found;
}
