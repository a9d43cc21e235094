/** Ways from outside by load balancers and ingress controllers, as the page shows them. */
import {
  type Entryways,
  entrywaysOfAnswer,
  entrywaysOfMatrix,
} from '../../src/answers/entrances/entryways.ts';
import { entrywayGroups, entrywaysInDoubt } from '../../src/answers/entrances/waytext.ts';
import type { QuestionResult } from '../../src/answers/questions/ask.ts';
import type { ClusterView } from '../../src/answers/questions/place.ts';
import { LOST } from './notes.ts';
import type { Way } from './protocol.ts';

/** All of them. Policies that could not be read may decide anything. */
export function waysFromOutside(view: ClusterView, hidesPolicies: boolean): Entryways {
  return orInDoubt(entrywaysOfMatrix(view), hidesPolicies);
}

/** Those of a question from outside. */
export function waysOf(
  result: QuestionResult,
  view: ClusterView,
  hidesPolicies: boolean,
): Entryways | undefined {
  return 'answer' in result
    ? orInDoubt(entrywaysOfAnswer(view, result.answer, []), hidesPolicies)
    : undefined;
}

function orInDoubt(ways: Entryways, hidesPolicies: boolean): Entryways {
  return hidesPolicies ? entrywaysInDoubt(ways, LOST) : ways;
}

export function waysShown(ways: Entryways): readonly Way[] {
  return entrywayGroups(ways).map(({ way: { to, verdict, isAssumed, steps }, objects }) => ({
    objects,
    to,
    verdict,
    ...(isAssumed && { isAssumed }),
    steps: steps.map(({ families: _, ...step }) => step),
  }));
}
