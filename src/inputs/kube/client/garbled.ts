/** What a body says that is no JSON, or not the JSON that it should be. */
import { ApiError } from './apierror.ts';

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError('garbled', 'the answer is no JSON', { cause });
  }
}

export function garbled(): ApiError {
  return new ApiError('garbled', 'the answer is no JSON');
}
