import { describe, expect, test } from 'vitest';
import { deciderNames } from '../../src/semantics/decidernames.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { walk } from '../../src/semantics/explain.ts';
import {
  type Expectation,
  failure,
  failures,
  loadScenarios,
  type Moment,
  play,
  problemFailures,
  type Scenario,
} from '../support/scenarios/scenario.ts';
import { PROVEN_ELSEWHERE, REQUIRED, STATEMENTS } from '../support/scenarios/statements.ts';

const scenarios = loadScenarios();

describe('evaluate() gives the verdicts of', () => {
  test.each(scenarios.map(scenario => [scenario.file, scenario] as const))('%s', (_, scenario) => {
    const wrong = problemFailures(scenario);
    for (const moment of play(scenario)) {
      const judge = evaluator(moment.cluster, scenario.unknownPods);
      wrong.push(
        ...failures(scenario, moment, flow => judge(flow).verdict),
        ...wrongDeciders(scenario, moment),
      );
    }
    expect(wrong).toEqual([]);
  });
});

describe('the scenarios', () => {
  const proven = new Set(scenarios.flatMap(scenario => scenario.proves));

  test('prove every statement', () => {
    expect(REQUIRED.filter(statement => !proven.has(statement))).toEqual([]);
  });

  test('name statements that there are', () => {
    expect([...proven].filter(statement => !STATEMENTS.has(statement))).toEqual([]);
    expect(Object.keys(PROVEN_ELSEWHERE).filter(statement => !STATEMENTS.has(statement))).toEqual([]);
  });

  test('have titles of their own', () => {
    const titles = scenarios.map(scenario => scenario.title);
    expect(titles.filter((title, at) => titles.indexOf(title) !== at)).toEqual([]);
  });
});

/** The flows of a moment that something else decided than the scenario says. */
function wrongDeciders(scenario: Scenario, moment: Moment): string[] {
  return moment.expectations.flatMap(expectation => {
    if (expectation.by === undefined) return [];
    const got = deciders(scenario, moment, expectation);
    return got.includes(expectation.by)
      ? []
      : [failure(scenario, moment, expectation.text, `by ${expectation.by}`, got.join(' or '))];
  });
}

function deciders(
  { unknownPods }: Scenario,
  { cluster }: Moment,
  { flow, verdict, by }: Expectation,
): string[] {
  const { egress, ingress } = walk(cluster, flow, unknownPods);
  const found = by!.startsWith('egress') ? egress : ingress;
  return found.verdict.verdict === verdict
    ? deciderNames(found)
    : [`${found.direction}: ${found.verdict.verdict}`];
}
