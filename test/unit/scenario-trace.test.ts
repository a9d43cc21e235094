/** Every scenario against a walk through what `compile` makes for each node. */
import { expect, test } from 'vitest';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { compileAll, wrongStation } from '../support/oracle/equivalence.ts';
import { failure, loadScenarios, type Moment, play, type Scenario } from '../support/scenarios/scenario.ts';

test.each(loadScenarios())('compile() enforces $file', scenario => {
  const wrong: string[] = [];
  for (const moment of play(scenario)) wrong.push(...misenforced(scenario, moment));
  expect(wrong).toEqual([]);
});

/** Which hook would do otherwise than each direction's verdict; that the whole verdict is right, `evaluate` shows. */
function misenforced(scenario: Scenario, moment: Moment): string[] {
  const { cluster } = moment;
  const judge = evaluator(cluster, scenario.unknownPods);
  const rulesets = compileAll(cluster, scenario.unknownPods);
  return moment.expectations.flatMap(({ text, flow, verdict }) => {
    const wrong = wrongStation(cluster, rulesets, flow, () => judge(flow));
    return wrong === undefined ? [] : [failure(scenario, moment, text, verdict, wrong)];
  });
}
