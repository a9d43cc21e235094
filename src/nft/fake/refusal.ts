/** Why the fake kernel refuses a step; the batch makes a KernelError of it that names the step. */
import type { KernelErrorCode } from '../kernel.ts';

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: KernelErrorCode;

  constructor(code: KernelErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
