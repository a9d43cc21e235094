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

/** What the kernel says of a step that it can never take, and whatever else it says of a step, but for what follows. */
const CONTENT: ReadonlySet<string> = new Set([
  'E2BIG',
  'EFBIG',
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
/** Somebody else has the tables. */
const OWNED = 'EPERM';
/** By then the tables were dumped, the engine was made anew and another socket was opened. */
const DOUBTS = 3;

export function mayBlame({ error, isTrial, isSettling, isExplained, failuresBefore }: Suspicion): boolean {
  const isCertain = isTrial || isSettling || isExplained;
  if (!(error instanceof KernelError)) return isTrial || isSettling || failuresBefore >= 1;
  if (STATE.has(error.code)) return isTrial || isSettling || failuresBefore >= DOUBTS;
  return isOfContent(error) && (isCertain || failuresBefore >= 1);
}

/** The kernel knows more reasons to refuse a step than anybody lists: whoever is behind it must not stop all others. */
function isOfContent({ code, op }: KernelError): boolean {
  return CONTENT.has(code) || (op !== undefined && code !== OWNED);
}
