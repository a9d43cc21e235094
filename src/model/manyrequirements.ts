/** Matching of selectors with very many requirements or values: the requirements are combined once for each key. */
import type { LabelSelector, Labels, Requirement } from './labels.ts';

/** What all requirements together demand of one key. */
interface KeyRequirements {
  /** In, Exists: the key has to be present. */
  required: boolean;
  /** DoesNotExist: the key has to be absent. */
  forbidden: boolean;
  /** The values that all In requirements have in common; undefined without one. */
  allowed: ReadonlySet<string> | undefined;
  /** The values of all NotIn requirements. */
  readonly denied: Set<string>;
}

interface Prepared {
  readonly byKey: ReadonlyMap<string, KeyRequirements>;
  readonly required: readonly string[];
}

/** Returns the same as matching one requirement after the other. */
export function matchesMany(selector: LabelSelector, labels: Labels): boolean {
  const { byKey, required } = prepared(selector);
  const keys = Object.keys(labels);
  // The required keys are distinct, so an object with fewer labels lacks one of them.
  if (required.length > keys.length || !required.every(key => Object.hasOwn(labels, key))) return false;
  return keys.every(key => allows(byKey.get(key), labels[key]!));
}

function allows(says: KeyRequirements | undefined, value: string): boolean {
  if (says === undefined) return true;
  return !says.forbidden && !says.denied.has(value) && (says.allowed?.has(value) ?? true);
}

const known = new WeakMap<LabelSelector, Prepared>();

function prepared(selector: LabelSelector): Prepared {
  const found = known.get(selector);
  if (found !== undefined) return found;
  const byKey = new Map<string, KeyRequirements>();
  for (const requirement of selector.requirements) {
    const says = byKey.get(requirement.key) ?? nothingSaid();
    byKey.set(requirement.key, says);
    add(requirement, says);
  }
  const required = [...byKey].filter(([, says]) => says.required).map(([key]) => key);
  const made = { byKey, required };
  known.set(selector, made);
  return made;
}

function nothingSaid(): KeyRequirements {
  return { required: false, forbidden: false, allowed: undefined, denied: new Set() };
}

function add({ operator, values }: Requirement, says: KeyRequirements): void {
  switch (operator) {
    case 'In': {
      const before = says.allowed;
      says.allowed = new Set(before === undefined ? values : values.filter(value => before.has(value)));
      says.required = true;
      break;
    }
    case 'NotIn':
      for (const value of values) says.denied.add(value);
      break;
    case 'Exists':
      says.required = true;
      break;
    case 'DoesNotExist':
      says.forbidden = true;
      break;
  }
}
