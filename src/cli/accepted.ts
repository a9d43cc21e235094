/** Warnings that somebody has looked at: of a kind, or of one object. */
import { type Problem, WARNING_CODES } from '../model/problem.ts';
import { CommandError } from '../terminal/commanderror.ts';

export interface Accepted {
  readonly code: string;
  /** `NetworkPolicy shop/web`; absent for all. */
  readonly object?: string;
}

/** `empty-subject`, or `empty-subject:NetworkPolicy shop/web`. Throws CommandError where there is no such kind. */
export function parseAccepted(text: string): Accepted {
  const [code = '', ...rest] = text.split(':');
  if (!(WARNING_CODES as readonly string[]).includes(code))
    throw new CommandError(`--accept "${text}": ${code} is no kind of warning (${WARNING_CODES.join(', ')})`);
  return { code, ...(rest.length > 0 && { object: rest.join(':').trim() }) };
}

/** An error never is. */
export function isAccepted(
  { severity, code = 'object', object }: Problem,
  accepted: readonly Accepted[],
): boolean {
  if (severity === 'error') return false;
  return accepted.some(each => each.code === code && (each.object === undefined || each.object === object));
}
