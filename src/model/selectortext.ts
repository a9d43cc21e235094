/** kubectl's selector syntax: `app=web,tier in (a, b),release notin (old),canary,!legacy`. */
import type { LabelSelector, Requirement } from './labels.ts';

const KEY = '[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?';
const VALUE = '[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?';
const EQUALS = new RegExp(`^(${KEY})\\s*(==?|!=)\\s*(${VALUE})?$`);
const IN = new RegExp(`^(${KEY})\\s+(in|notin)\\s+\\(([^()]*)\\)$`);
const EXISTS = new RegExp(`^(!)?\\s*(${KEY})$`);
const LISTED = new RegExp(`^${VALUE}$`);

/** Undefined if the text is not a selector. */
export function parseSelector(text: string): LabelSelector | undefined {
  const parts = text
    .split(/,(?![^(]*\))/)
    .map(part => part.trim())
    .filter(part => part !== '');
  const requirements = parts.map(requirementOf);
  const known = requirements.filter(requirement => requirement !== undefined);
  return known.length === requirements.length && known.length > 0 ? { requirements: known } : undefined;
}

function requirementOf(part: string): Requirement | undefined {
  return equality(part) ?? list(part) ?? existence(part);
}

function equality(part: string): Requirement | undefined {
  const [, key, operator, value = ''] = EQUALS.exec(part) ?? [];
  if (key === undefined) return undefined;
  return { key, operator: operator === '!=' ? 'NotIn' : 'In', values: [value] };
}

function list(part: string): Requirement | undefined {
  const [, key, operator, inner = ''] = IN.exec(part) ?? [];
  const values = inner.split(',').map(value => value.trim());
  if (key === undefined || !values.every(value => value === '' || LISTED.test(value))) return undefined;
  return { key, operator: operator === 'in' ? 'In' : 'NotIn', values };
}

function existence(part: string): Requirement | undefined {
  const [, not, key] = EXISTS.exec(part) ?? [];
  return key === undefined ? undefined : { key, operator: not ? 'DoesNotExist' : 'Exists', values: [] };
}
