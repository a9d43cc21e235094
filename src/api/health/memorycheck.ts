/** The check of memory: is there enough of it for the pods and policies of the cluster? */
import { type Check, finding } from './check.ts';

export interface MemoryFacts {
  readonly pods: number;
  readonly policies: number;
  /** Bytes that V8 lets its heap have. */
  readonly heapLimit: number;
  /** Bytes that the container may have; absent where it has no limit. */
  readonly limit?: number | undefined;
  /** Bytes that the process has now: its own, and pages of files that other processes may share. */
  readonly resident?: number;
}

/**
 * The most bytes that an agent takes, while it starts or much changes, and how many of them are on the heap, garbage
 * included (measured in docs/performance.md).
 */
const PEAK = { fixed: 100e6, pod: 3_000, policy: 10_000 };
const HEAP = { fixed: 30e6, pod: 1_700, policy: 10_000 };

const NAME = 'memory';
const MEBIBYTE = 2 ** 20;

/** A warning at most: the agent may go on for long, and the rules in force stay when it ends. */
export function memory(facts: MemoryFacts): Check {
  const { heapLimit, limit } = facts;
  const [peak, heap] = [needed(PEAK, facts), needed(HEAP, facts)];
  const cluster = `${facts.pods} pods and ${facts.policies} policies`;
  const ended = 'an agent that needs more is ended, and its rules stay as they were';
  if (limit !== undefined && peak > limit)
    return finding.warn(
      NAME,
      `${cluster} may take ${inMebibytes(peak)} of memory, and the container may have ${inMebibytes(limit)}: ${ended}`,
      "raise the memory limit of the agent's container; of the chart: resources.limits.memory",
    );
  if (heap > heapLimit)
    return finding.warn(
      NAME,
      `${cluster} may take ${inMebibytes(heap)} of the heap, and V8 may have ${inMebibytes(heapLimit)}: ${ended}`,
      'raise --max-old-space-size or --max-old-space-size-percentage in NODE_OPTIONS; the chart gives the heap 75 % of resources.limits.memory',
    );
  const most = limit === undefined ? '' : ` of ${inMebibytes(limit)}`;
  return finding.ok(NAME, `${cluster} may take ${inMebibytes(peak)}${most}${residentText(facts)}`);
}

/** How many pods and policies may be added in any case without a warning: none takes more than a policy. */
export function objectsThatFit(facts: MemoryFacts): number {
  const { heapLimit, limit = Number.POSITIVE_INFINITY } = facts;
  const left = Math.min(
    (limit - needed(PEAK, facts)) / PEAK.policy,
    (heapLimit - needed(HEAP, facts)) / HEAP.policy,
  );
  return Math.max(0, Math.floor(left));
}

function residentText({ resident }: MemoryFacts): string {
  if (resident === undefined) return '';
  return `; ${inMebibytes(resident)} are resident, pages of files included that other processes may share`;
}

function needed({ fixed, pod, policy }: typeof PEAK, { pods, policies }: MemoryFacts): number {
  return fixed + pod * pods + policy * policies;
}

function inMebibytes(bytes: number): string {
  return `${Math.round(bytes / MEBIBYTE)} MiB`;
}
