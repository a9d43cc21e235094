/** Many questions about one cluster: read from a text, each with its answer or its error. */
import { FlowTextError } from '../../semantics/flowtext.ts';
import { PolicyIndex } from '../../semantics/policyindex.ts';
import { type Answer, answer, type Question } from './answer.ts';
import type { ClusterView } from './place.ts';
import { questionsIn } from './traffic.ts';

/** A line that is not a question. */
export interface Unreadable {
  readonly line: string;
  readonly problem: string;
}

/** The result of one question. */
export type QuestionResult = Failure | { readonly answer: Answer };

/** A question without an answer, and its error. */
interface Failure {
  readonly question: Question | Unreadable;
  /** The question as it was asked. */
  readonly words: string;
  readonly error: string;
}

/** The results are in the order of the questions. */
export function ask(
  known: ClusterView,
  questions: readonly (Question | Unreadable)[],
): readonly QuestionResult[] {
  const view = { ...known, index: new PolicyIndex(known.cluster.policies.values()) };
  return questions.map(question => {
    if ('line' in question) return { question, words: `"${question.line}"`, error: question.problem };
    try {
      return { answer: answer(view, question) };
    } catch (error) {
      if (!(error instanceof FlowTextError)) throw error;
      return { question, words: `${question.from} -> ${question.to}`, error: error.message };
    }
  });
}

/**
 * A text that begins with a bracket is JSON as policy-assistant reads it; any other text has one question a line:
 * `shop/web -> shop/db:5432 # why`, where the arrow may be missing. Throws FlowTextError or SyntaxError for wrong JSON.
 */
export function parseQuestions(text: string): readonly (Question | Unreadable)[] {
  if (/^\s*[[{]/.test(text)) return questionsIn(JSON.parse(text));
  const lines = text.split('\n').map(line => line.replace(/#.*/, '').trim());
  return lines.filter(line => line !== '').map(questionOf);
}

function questionOf(line: string): Question | Unreadable {
  const [from, to, ...rest] = line.replace('->', ' ').split(/\s+/);
  if (to === undefined || rest.length > 0)
    return { line, problem: 'cannot parse: expected FROM TO[:PORT[/PROTOCOL]]' };
  return { from: from!, to };
}
