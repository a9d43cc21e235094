/** The two things a ruleset can be put into: the kernel of this network namespace, and a fake as strict as it. */

import type { MissingFeature } from './missingfeature.ts';
import type { Op } from './plan/op.ts';
import type { ElementKey, QueueBy, Ruleset } from './ruleset.ts';

/** Counts the changes of all nftables of a network namespace, everybody's. */
export type Generation = number;

export interface Snapshot {
  readonly ruleset: Ruleset;
  /** The generation at which all of `ruleset` was read. */
  readonly generation: Generation;
}

/**
 * Who may change our tables now:
 *
 *     us         both exist and are ours: nobody else can change them or take them away
 *     another    one of them is somebody else's: whatever we commit is refused (EPERM)
 *     nobody     one is missing, or exists without an owner
 *     everybody  this kernel knows no owners whose tables outlive them
 */
export type Owner = 'us' | 'another' | 'nobody' | 'everybody';

export interface Kernel {
  /** What this kernel lacks, and what we do instead; empty for the newest. */
  readonly missingFeatures: readonly MissingFeature[];
  /** By which expression packets can wait for us; undefined where they cannot. */
  readonly queue?: QueueBy | undefined;
  /** Our two tables, read back whole and consistent. Throws KernelError. */
  dump(): Promise<Snapshot>;
  generation(): Promise<Generation>;
  /** Asks the kernel, in microseconds. We own what we have committed to, until `close`. */
  owner(): Promise<Owner>;
  /**
   * Puts one batch into force, whole or not at all. With `expected`, only if nobody changed anything since that
   * generation: else KernelError with code ERESTART. Answers the generation that the batch made. An empty batch
   * changes nothing, except that tables without an owner become ours.
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
 * Why a batch was refused. `op` is the first step that was refused: what it depends on was taken, so that the
 * fault is its own. Of several elements `key` is the first that was refused. Both are absent where the kernel
 * refused the batch as a whole.
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
