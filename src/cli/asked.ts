/** Questions and what became of them. */
import { type Answer, answer, type Question } from '../answers/questions/answer.ts';
import type { World } from '../answers/questions/place.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import { FlowTextError } from '../semantics/flowtext.ts';
import { PolicyIndex } from '../semantics/policyindex.ts';
import type { Unreadable } from './questions.ts';
import type { State } from './sources/state.ts';

export type Asked = Failure | { readonly answer: Answer };

/** A question without an answer, and what is wrong with it. */
interface Failure {
  readonly question: Question | Unreadable;
  /** The question as it was asked. */
  readonly words: string;
  readonly error: string;
}

/** In the order of the questions. */
export function ask(known: World, questions: readonly (Question | Unreadable)[]): readonly Asked[] {
  const world = { ...known, index: new PolicyIndex(known.cluster.policies.values()) };
  return questions.map(question => {
    if ('line' in question) return { question, words: `"${question.line}"`, error: question.problem };
    try {
      return { answer: answer(world, question) };
    } catch (error) {
      if (!(error instanceof FlowTextError)) throw error;
      return { question, words: `${question.from} -> ${question.to}`, error: error.message };
    }
  });
}

export function worldOf(state: State, unknownPods: UnknownPods | undefined): World {
  const { cluster, inventory, knowsInventory, known, scope } = state;
  return {
    cluster,
    inventory,
    knowsInventory,
    defaultNamespace: scope.defaultNamespace,
    unknownPods: unknownPods ?? state.unknownPods ?? 'allow',
    ...(known && { known }),
    ...(state.mayNotList && { mayNotList: state.mayNotList }),
  };
}

const CODES = { allow: 0, deny: 1, undecided: 2 } as const;

/** 0 where all is allowed, 1 where something is denied, 2 where something could not be said. */
export function exitCodeOf(asked: readonly Asked[]): number {
  return Math.max(0, ...asked.map(each => ('error' in each ? 2 : CODES[each.answer.verdict])));
}
