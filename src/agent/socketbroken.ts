import type { KernelError } from '../nft/kernel.ts';

/** What a kernel says about a batch or a dump. Whatever else it says is about its socket. */
const REFUSALS: ReadonlySet<string> = new Set([
  'E2BIG',
  'EAGAIN',
  'EBUSY',
  'EEXIST',
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

/** What is not about the content of a batch: another owner, another writer, a dump that was interrupted. */
const CIRCUMSTANCES: ReadonlySet<string> = new Set(['EAGAIN', 'EPERM', 'ERESTART']);

/** Whether the kernel refused what is in the batch. */
export function isRefusal({ code }: KernelError): boolean {
  return REFUSALS.has(code) && !CIRCUMSTANCES.has(code);
}

/** Whether the socket may be of no use any more: closed, broken, or out of step with its answers. */
export function isSocketBroken({ code }: KernelError): boolean {
  return !REFUSALS.has(code);
}
