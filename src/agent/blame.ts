/** Whether policies may be to blame for a batch that failed: pure, so that every case is a line of a test. */
import { KernelError } from '../nft/kernel.ts';

export interface Suspicion {
  readonly error: unknown;
  /** The batch was made to try policies: it held nothing else that is new. */
  readonly isTrial: boolean;
  /** The batch was made to show that all is well without suspects. */
  readonly isSettling: boolean;
  /** The kernel named an object of a policy that changed with the batch. */
  readonly isExplained: boolean;
  /** Attempts that failed in a row before this one. */
  readonly failuresBefore: number;
}

/** What the kernel says of a step that it can never take. */
const CONTENT: ReadonlySet<string> = new Set([
  'E2BIG',
  'EINVAL',
  'EMSGSIZE',
  'ENAMETOOLONG',
  'EOPNOTSUPP',
  'EOVERFLOW',
  'ERANGE',
]);
/** What it also says when our picture of it is wrong, or while it is short of something: that is seen to first. */
const STATE: ReadonlySet<string> = new Set([
  'EBUSY',
  'EEXIST',
  'ELOOP',
  'EMLINK',
  'ENFILE',
  'ENOENT',
  'ENOMEM',
  'ENOSPC',
]);
/** By then the tables were dumped, the engine was made anew and another socket was opened. */
const DOUBTS = 3;

export function mayBlame({ error, isTrial, isSettling, isExplained, failuresBefore }: Suspicion): boolean {
  const isCertain = isTrial || isSettling || isExplained;
  if (!(error instanceof KernelError)) return isTrial || isSettling || failuresBefore >= 1;
  if (CONTENT.has(error.code)) return isCertain || failuresBefore >= 1;
  return STATE.has(error.code) && (isTrial || isSettling || failuresBefore >= DOUBTS);
}
