/**
 * The interface of what rulesets are committed to: the kernel of this network namespace, or a fake that is as strict as
 * the kernel.
 */

import type { MissingFeature } from './missingfeature.ts';
import type { Op } from './plan/op.ts';
import type { ElementKey, QueueBy, Ruleset } from './ruleset.ts';

/** Counts the changes of all nftables of a network namespace, whoever makes them. */
export type Generation = number;

export interface Snapshot {
  readonly ruleset: Ruleset;
  /** The generation at which the whole ruleset was read. */
  readonly generation: Generation;
}

/**
 * The owner of our tables now:
 *
 *     us       both exist and are ours: no other process can change or delete them
 *     another  another process owns one of them: our commits are refused (EPERM)
 *     none     one is missing, or exists without an owner
 *     shared   this kernel has no owners whose tables outlive them: every process may change them
 */
export type Owner = 'us' | 'another' | 'none' | 'shared';

export interface Kernel {
  /** What this kernel lacks, and what is done instead; empty for a kernel that lacks nothing. */
  readonly missingFeatures: readonly MissingFeature[];
  /** The expression that queues packets to user space; undefined if the kernel has none. */
  readonly queue?: QueueBy | undefined;
  /**
   * Reads our tables whole and consistent. Sets that have the elements of `known` may share them with it, so that what
   * was read of each set can be freed before the next set is read. Throws KernelError.
   */
  dump(known?: Ruleset): Promise<Snapshot>;
  generation(): Promise<Generation>;
  /** Reads the owner from the kernel, in microseconds. Tables that we have committed to are ours until `close`. */
  owner(): Promise<Owner>;
  /**
   * Commits one batch, whole or not at all. With `expected`, only if no other program has changed nftables since that
   * generation: otherwise it throws KernelError with code ERESTART. Returns the generation that the batch made. An
   * empty batch changes nothing, except that tables without an owner become ours.
   */
  commit(ops: readonly Op[], expected?: Generation): Promise<Generation>;
  close(): void;
}

export type KernelErrorCode =
  | 'EBUSY'
  | 'ENOENT'
  | 'EEXIST'
  | 'ENFILE'
  | 'EINVAL'
  | 'ERANGE'
  | 'EFBIG'
  | 'EPERM'
  | 'ERESTART'
  | 'EMLINK'
  | 'EAFNOSUPPORT'
  | 'EPROTONOSUPPORT'
  | 'EMSGSIZE'
  | 'ENOBUFS'
  | (string & {});

/**
 * Why a batch was refused. `op` is the first operation that was refused. Operations that it depends on were accepted,
 * so the mistake is in `op` itself. If it has several elements, `key` is the first that was refused. Both are absent if
 * the kernel refused the batch as a whole.
 */
export class KernelError extends Error {
  override readonly name = 'KernelError';
  readonly code: KernelErrorCode;
  readonly op: Op | undefined;
  readonly key: ElementKey | undefined;

  constructor(
    code: KernelErrorCode,
    message: string,
    { op, key, cause }: { op?: Op | undefined; key?: ElementKey | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.op = op;
    this.key = key;
  }
}
