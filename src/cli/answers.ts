/** The answers of `sluice explain`, as data: what they look like is explaintext.ts's to say. */
import { addressOwners } from '../model/addressowners.ts';
import type { Cluster, PodKey } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import { natNote } from '../readback/natnote.ts';
import { evaluator, type FlowVerdict } from '../semantics/evaluate.ts';
import { type Walk, walk } from '../semantics/explain.ts';
import { FlowTextError, otherFamily, parseFlowPieces } from '../semantics/flowtext.ts';
import type { Question, Unreadable } from './questions.ts';

/** What flows are judged by. */
export interface Judged {
  readonly cluster: Cluster;
  readonly unknownPods: UnknownPods;
}

export type Answer = Failure | Judgement;

/** A question without an answer, and what is wrong with it. */
export interface Failure {
  readonly question: Question | Unreadable;
  readonly error: string;
}

export interface Judgement {
  readonly question: Question;
  readonly flow: Flow;
  readonly verdict: FlowVerdict;
  /** What the addresses alone do not show. */
  readonly note: string | undefined;
}

/** Everything there is to say about one flow. */
export interface Explanation {
  readonly question: Question;
  readonly walk: Walk;
  /** The pods that have the two addresses. */
  readonly pods: { readonly from: PodKey | undefined; readonly to: PodKey | undefined };
  readonly note: string | undefined;
  /** The same connection over the other address family, where both ends have it. */
  readonly other: { readonly flow: Flow; readonly verdict: 'allow' | 'deny' } | undefined;
}

/** In the order of the questions. */
export function answer({ cluster, unknownPods }: Judged, questions: readonly (Question | Unreadable)[]) {
  const evaluate = evaluator(cluster, unknownPods);
  return questions.map((question): Answer => {
    const flow = flowOf(cluster, question);
    if (typeof flow === 'string') return { question, error: flow };
    const asked = question as Question;
    return { question: asked, flow, verdict: evaluate(flow), note: natNote(cluster, asked.to, flow) };
  });
}

export function explain({ cluster, unknownPods }: Judged, { question, flow, note }: Judgement): Explanation {
  const owners = addressOwners(cluster);
  const second = otherFamily(cluster, question.from, question.to);
  return {
    question,
    walk: walk(cluster, flow, unknownPods),
    pods: { from: owners.get(flow.from)?.key, to: owners.get(flow.to)?.key },
    note,
    other: second && { flow: second, verdict: evaluator(cluster, unknownPods)(second).verdict },
  };
}

/** The flow that a question means, or what is wrong with it. */
function flowOf(cluster: Cluster, question: Question | Unreadable): Flow | string {
  if ('line' in question) return 'cannot parse: expected FROM TO[:PORT[/PROTOCOL]]';
  try {
    return parseFlowPieces(cluster, question.from, question.to);
  } catch (error) {
    if (error instanceof FlowTextError) return error.message;
    throw error;
  }
}
