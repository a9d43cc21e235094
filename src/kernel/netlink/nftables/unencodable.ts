/** A step that has no bytes: it never reaches the kernel, and is refused as the kernel refuses what is wrong. */
import { errorText } from '../../../lib/text/errortext.ts';
import { KernelError } from '../../../nft/kernel.ts';
import type { Op } from '../../../nft/plan/op.ts';
import { refusedText } from '../../../nft/plan/refusedtext.ts';
import { type ElementKey, MEMBER } from '../../../nft/ruleset.ts';
import { AttributeWriter } from '../wire/attributes.ts';
import { writeElement } from './elements.ts';

/** RangeError is for what is too large, and for text that means nothing; TypeError for what is of another kind. */
export function unencodable(error: unknown, op: Op): KernelError {
  const code = error instanceof RangeError ? 'ERANGE' : 'EINVAL';
  const key = firstUnencodable(op);
  const reason = errorText(error);
  const message = `${code}: ${refusedText(op, key)}: ${reason}; nothing was changed`;
  return new KernelError(code, message, { op, key, cause: error });
}

function firstUnencodable(op: Op): ElementKey | undefined {
  const to = new AttributeWriter();
  if (op.op === 'addElements')
    return op.elements.find(([key, value]) => fails(() => writeElement(to, op.set, key, value)))?.[0];
  if (op.op === 'delElements') return op.keys.find(key => fails(() => writeElement(to, op.set, key, MEMBER)));
  return undefined;
}

function fails(work: () => void): boolean {
  try {
    work();
    return false;
  } catch {
    return true;
  }
}
