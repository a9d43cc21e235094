/**
 * A manifest as it may be passed on: without Secrets. No answer reads them, so that nothing is lost by it. Lines stay
 * where they are, unless a Secret is in a list or another object.
 */
import { asMap } from '../kube/report/identity.ts';
import { outlinesOf } from './outline.ts';
import { parseDocuments } from './parse.ts';
import { ParseError } from './yaml.ts';

/** As it is written, or with escapes. */
const MAY_BE_SECRET = /Secret|\\[uUx\r\n]/;

export function withoutSecrets(text: string): string {
  if (!MAY_BE_SECRET.test(text)) return text;
  const outlines = /^\s*[[{]/.test(text) ? undefined : outlinesOf(text);
  let [rest, at] = ['', 0];
  for (const { start, end } of outlines ?? [{ start: 0, end: text.length }]) {
    // The line end after `---` is part of the document.
    const first = start + (/^\r?\n/.exec(text.slice(start, start + 2))?.[0].length ?? 0);
    rest += text.slice(at, first) + shownOf(text.slice(first, end));
    at = end;
  }
  return rest + text.slice(at);
}

/** What cannot be parsed may be a policy, too: it stays something that cannot be parsed. */
const UNREADABLE = 'kind: [ # This cannot be parsed, and may be a Secret.\n';

/** More is a text whose aliases multiply it. */
const MOST_VALUES = 5_000_000;

function shownOf(text: string): string {
  if (!MAY_BE_SECRET.test(text)) return text;
  let [values, secrets] = [0, 0];
  const isLeftOut = (value: unknown) => isSecret(value) && ++secrets > 0;
  const shown = (_: string, value: unknown) => {
    if (++values > MOST_VALUES) throw new RangeError('too many values');
    if (Array.isArray(value)) return value.filter(each => !isLeftOut(each));
    return isLeftOut(value) ? undefined : value;
  };
  try {
    const documents = parseDocuments(text).map(each => {
      if (each instanceof ParseError) throw each;
      return JSON.stringify(each.value, shown, 2) as string | undefined;
    });
    if (secrets === 0) return text;
    const rest = documents.filter(each => each !== undefined);
    return rest.length > 0 ? `${rest.join('\n---\n')}\n` : blank(text);
  } catch {
    return UNREADABLE;
  }
}

function blank(text: string): string {
  return `# A Secret is left out.${text.replaceAll(/[^\n]+/g, '')}`;
}

/** A reference to a Secret has no metadata. */
function isSecret(value: unknown): boolean {
  const { kind, metadata, data, stringData, items } = asMap(value);
  return kind === 'SecretList'
    ? items !== undefined
    : kind === 'Secret' && [metadata, data, stringData].some(each => each !== undefined);
}
