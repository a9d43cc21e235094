import { MOST_OF_SUBJECT } from '../../../model/budget.ts';
import type { LabelSelector, Operator, Requirement } from '../../../model/selector.ts';
import { describe, type Field, isLargerThan } from './fields.ts';
import { isLabelKey, isLabelValue } from './metadata.ts';

/**
 * Reads a LabelSelector; an absent one is `{}` and selects everything. A selector that the API server would refuse is
 * an error (N59); it can also come from a real server, because the CRDs of the cluster policies do not check operators
 * (4.12).
 */
export function readLabelSelector(selector: Field): LabelSelector {
  return { requirements: readEach(selector).map(({ value }) => value) };
}

/**
 * Reads the selector of a subject. Its readable part narrows the selection; which of the remaining pods are meant is
 * unknown. So a policy that denies continues to deny, whether or not an earlier version could be read (N68).
 */
export function readSubjectSelector(selector: Field, effect: string): LabelSelector {
  if (isLargerThan(selector, MOST_OF_SUBJECT)) {
    selector
      .withEffect(effect)
      .error(`has more than ${MOST_OF_SUBJECT} requirements and values, and ${MOST_OF_SUBJECT} are the most`);
    return { requirements: [], unreadable: true };
  }
  const { value, clean } = selector.attempt(effect, readEach);
  const requirements = value.filter(part => part.clean).map(part => part.value);
  return clean ? { requirements } : { requirements, unreadable: true };
}

function readEach(selector: Field): readonly { value: Requirement; clean: boolean }[] {
  if (selector.isPresent) selector.expectMap(['matchLabels', 'matchExpressions']);
  const labels = selector.get('matchLabels');
  const keys = labels.keys();
  return [
    ...keys.map(key => labels.get(key).sameEffect(label => readMatchLabel(label, key))),
    ...selector
      .get('matchExpressions')
      .items()
      .map(expression => expression.sameEffect(readRequirement)),
  ];
}

/** A null value is empty text, as the API server reads it. */
function readMatchLabel(label: Field, key: string): Requirement {
  const value = label.text() ?? '';
  checkLabel(label, key, [value]);
  return { key, operator: 'In', values: [value] };
}

const OPERATORS: readonly Operator[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

function readRequirement(expression: Field): Requirement {
  expression.expectMap(['key', 'operator', 'values']);
  const key = expression.get('key').requiredText() ?? '';
  const operator = readOperator(expression.get('operator'));
  const values = expression
    .get('values')
    .items()
    .map(value => value.requiredText() ?? '');
  checkLabel(expression, key, values);
  if (operator !== undefined) checkCount(expression.get('values'), operator, values.length);
  return { key, operator: operator ?? 'In', values };
}

function readOperator(operator: Field): Operator | undefined {
  if (!operator.isPresent) operator.error('is missing');
  return operator.oneOf(OPERATORS);
}

function checkCount(values: Field, operator: Operator, count: number): void {
  const needsValues = operator === 'In' || operator === 'NotIn';
  if (needsValues && count === 0) values.error(`must name a value, because the operator is ${operator}`);
  if (!needsValues && count > 0) values.error(`must be empty, because the operator is ${operator}`);
}

function checkLabel(where: Field, key: string, values: readonly string[]): void {
  if (!isLabelKey(key)) where.error(`has ${describe(key)}, which is not a label key`);
  for (const value of values)
    if (!isLabelValue(value)) where.error(`has ${describe(value)}, which is not a label value`);
}
