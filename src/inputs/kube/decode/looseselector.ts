/** Label selectors that no verdict depends on, and which are taken without a check. */
import type { LabelSelector, Operator, Requirement } from '../../../model/labels.ts';
import { asMap } from '../report/identity.ts';

/** Undefined where a part of it cannot be read. */
export function looseSelector(value: unknown): LabelSelector | undefined {
  const { matchLabels, matchExpressions = [] } = asMap(value);
  const labels = Object.entries(asMap(matchLabels));
  if (!Array.isArray(matchExpressions) || labels.some(([, each]) => typeof each !== 'string'))
    return undefined;
  const requirements = [
    ...labels.map(([key, each]): Requirement => ({ key, operator: 'In', values: [each as string] })),
    ...matchExpressions.map(asMap).map(requirementOf),
  ];
  return requirements.includes(undefined)
    ? undefined
    : { requirements: requirements as readonly Requirement[] };
}

const OPERATORS: readonly Operator[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

function requirementOf({ key, operator, values = [] }: Record<string, unknown>): Requirement | undefined {
  const known = OPERATORS.find(each => each === operator);
  const isList = Array.isArray(values) && values.every(value => typeof value === 'string');
  return typeof key === 'string' && known !== undefined && isList
    ? { key, operator: known, values }
    : undefined;
}
