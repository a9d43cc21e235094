import type { KernelError } from '../nft/kernel.ts';

/** What a kernel says about a batch or a dump, but for what it says of one step. Whatever else it says is about its socket. */
const REFUSALS: ReadonlySet<string> = new Set([
  'E2BIG',
  'EAGAIN',
  'EBUSY',
  'EEXIST',
  'EFBIG',
  'EINVAL',
  'ELOOP',
  'EMLINK',
  'EMSGSIZE',
  'ENAMETOOLONG',
  'ENFILE',
  'ENOENT',
  'ENOMEM',
  'ENOSPC',
  'EOPNOTSUPP',
  'EOVERFLOW',
  'EPERM',
  'ERANGE',
  'ERESTART',
]);

/** Whether the socket may be of no use any more: closed, broken, or out of step with its answers. */
export function isSocketBroken({ code, op }: KernelError): boolean {
  return op === undefined && !REFUSALS.has(code);
}
