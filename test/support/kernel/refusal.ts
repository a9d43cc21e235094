/** Why the fake kernel refuses a step; the batch makes a KernelError of it that names the step. */
import type { KernelErrorCode } from '../../../src/nft/kernel.ts';
import type { ElementKey } from '../../../src/nft/ruleset.ts';

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: KernelErrorCode;
  /** The element of the step that is refused. */
  readonly key: ElementKey | undefined;

  constructor(code: KernelErrorCode, message: string, key?: ElementKey) {
    super(message);
    this.code = code;
    this.key = key;
  }
}

/** Runs `work` for one element; if it is refused, the error names the element. */
export function ofElement<T>(key: ElementKey, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Refusal ? new Refusal(error.code, error.message, key) : error;
  }
}
