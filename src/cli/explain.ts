import { type Entryways, entrywaysOfAnswer, isFromOutside } from '../answers/entrances/entryways.ts';
import { doubtNotes, entrywaysInDoubt } from '../answers/entrances/waytext.ts';
import { type Answer, inDoubt, type Question } from '../answers/questions/answer.ts';
import { ask, parseQuestions, type QuestionResult, type Unreadable } from '../answers/questions/ask.ts';
import { type NamedEndpoint, parseEndpoint, shortServiceName } from '../answers/questions/endpoint.ts';
import { answerObject, fixOf } from '../answers/questions/explanation.ts';
import { type Written, writtenIn } from '../answers/questions/fix/written.ts';
import type { JudgedFlow } from '../answers/questions/judge.ts';
import { type ClusterView, podOf } from '../answers/questions/place.ts';
import { isWithin } from '../answers/questions/within.ts';
import { addressOwners } from '../model/addressowners.ts';
import { hasDomainPeers } from '../model/domainpeers.ts';
import { FlowTextError } from '../semantics/flowtext.ts';
import { unknownPodNodeFinder } from '../semantics/unknownpods.ts';
import pc from '../terminal/colours.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { isData, writeData } from '../terminal/data.ts';
import { HANG } from '../terminal/hang.ts';
import { type OutputOptions, outputColumns, writeDocument, writeLines } from '../terminal/output.ts';
import { entrywayLines } from './entrywaytext.ts';
import { answerLine, answerLines, fixDocument, fixLines } from './explaintext.ts';
import { orCommandError } from './orcommanderror.ts';
import { readText } from './sources/files.ts';
import { HIDDEN, lacksOf, noteStates, readState } from './sources/readstate.ts';
import {
  type Assumptions,
  clusterViewOf,
  guessesWith,
  type QuestionNeeds,
  type SourceOptions,
  type State,
} from './sources/state.ts';
import { writtenInCluster } from './sources/written.ts';

export type ExplainOptions = OutputOptions &
  SourceOptions & {
    readonly flows?: string;
    readonly fix?: boolean;
    readonly fixDeny?: boolean;
    readonly ingressController?: readonly string[];
  } & Assumptions;

/** `sluice explain FROM TO[:PORT[/PROTOCOL]]`, or many with `--flows FILE`. Exit code 0 allowed, 1 denied, 2 error or undecided. */
export async function explainCommand(
  from: string | undefined,
  to: string | undefined,
  options: ExplainOptions,
): Promise<void> {
  process.exitCode = await explain(from, to, options);
}

/** Writes the answer, and returns the exit code. */
export async function explain(
  from: string | undefined,
  to: string | undefined,
  options: ExplainOptions,
): Promise<number> {
  const questions = await readQuestions(from, to, options.flows);
  const fix = options.fixDeny ? 'deny' : options.fix ? 'allow' : undefined;
  const texts: string[] = [];
  const onText = fix && { onText: (text: string) => void texts.push(text) };
  const read = await readState(options, { ...wantedBy(questions), flags: true, ...onText });
  const state = await withNames(await withUnknownPods(read, questions, options), questions, options);
  noteStates(state);
  const world = clusterViewOf(state, options);
  const asked = ask(world, questions).map(each =>
    state.hidesPolicies && !isWholeFor(each, state) ? withoutVerdict(each) : each,
  );
  const only = options.flows === undefined ? asked[0] : undefined;
  if (only !== undefined && 'error' in only) throw new CommandError(only.error);
  const ways = only && waysIn(world, only.answer, options, state.hidesPolicies);
  const written = fix && (await writtenPolicies(state, asked, texts, options));
  const fixed = fix ? answered(asked).map(({ answer }) => fixOf(answer, world, fix, written)) : [];
  if (fix && options.output === 'yaml')
    for (const each of fixed) writeDocument(fixDocument(each, outputColumns()));
  else if (isData(options.output))
    await writeData(
      options.output,
      asked.map(each =>
        answerObject(each, world, lacksOf(state), { fix, ways: each === only ? ways : undefined, written }),
      ),
    );
  else
    writeLines(
      only === undefined
        ? asked.map(answerLine)
        : [...answerLines(only.answer, world.unknownPods, options.output === 'wide'), ...wayLines(ways)],
    );
  if (!isData(options.output)) for (const each of fixed) writeLines(fixLines(each, state.placeOf));
  return exitCodeOf(asked);
}

/** Those of the namespaces of the ends; none where an agent is asked, which has only what they mean. */
async function writtenPolicies(
  { isLive }: State,
  asked: readonly QuestionResult[],
  texts: readonly string[],
  options: ExplainOptions,
): Promise<Written | undefined> {
  if (!isLive) return texts.length === 0 ? undefined : writtenIn(texts, options.namespace);
  const ends = answered(asked)
    .flatMap(({ answer }) => answer.cases)
    .flatMap(({ from, to }) => [from, to.endpoint]);
  const namespaces = new Set(ends.flatMap(end => podOf(end)?.namespace ?? []));
  return writtenInCluster([...namespaces].slice(0, MOST_NAMESPACES), options);
}

const MOST_NAMESPACES = 8;

/** Of one question from outside: through which ingress controllers it is reached. */
function waysIn(
  world: ClusterView,
  answer: Answer,
  { ingressController = [] }: ExplainOptions,
  hidesPolicies: boolean,
): Entryways {
  const ways = orCommandError(() => entrywaysOfAnswer(world, answer, ingressController));
  return hidesPolicies ? entrywaysInDoubt(ways, HIDDEN) : ways;
}

function wayLines(ways: Entryways | undefined): string[] {
  if (ways === undefined) return [];
  const lines = [
    ...entrywayLines(ways).map(([head, text]) => `${head}${HANG}${text}`),
    ...doubtNotes(ways).map(note => `  ${HANG}${pc.dim(note)}`),
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Nodes whose agents are asked what they do with unknown pods. */
const MOST_NODES = 20;

/**
 * A live cluster with what its agents do with unknown pods, where their DaemonSet does not say it and an answer depends
 * on it: those of the nodes that have these addresses are asked.
 */
async function withUnknownPods(
  state: State,
  questions: readonly (Question | Unreadable)[],
  options: ExplainOptions,
): Promise<State> {
  const guesses = guessesWith(state, options.unknownPods);
  if (!guesses?.unknownPods) return state;
  const cases = casesOf(state, questions, options);
  const nodeOf = unknownPodNodeFinder(state.cluster, addressOwners(state.cluster));
  const ends = cases.filter(each => each.undecided).flatMap(({ flow }) => [flow.from, flow.to]);
  const nodes = new Set(ends.flatMap(address => nodeOf(address)?.name ?? []));
  if (nodes.size === 0 || nodes.size > MOST_NODES) return state;
  const { unknownPodsOfNodes } = await import('./everynode/unknownpodsof.ts');
  const { agents = 'sluice', ...where } = options;
  const unknownPods = await unknownPodsOfNodes([...nodes], { ...where, agents });
  return unknownPods === undefined
    ? state
    : { ...state, unknownPods, guesses: { ...guesses, unknownPods: false } };
}

/** Pods whose agents are asked: a file of questions may have many more. */
const MOST_PODS = 20;

/** A live cluster with the answers of DNS that may let pods out by a rule by name: their agents know them. */
async function withNames(
  state: State,
  questions: readonly (Question | Unreadable)[],
  options: ExplainOptions,
): Promise<State> {
  if (!state.isLive || ![...state.cluster.policies.values()].some(hasDomainPeers)) return state;
  const cases = casesOf(state, questions, options);
  const pods = new Set(cases.filter(isByName).flatMap(({ from }) => (from.pod?.node ? [from.pod] : [])));
  if (pods.size === 0) return state;
  const { namesOfPods } = await import('./everynode/namesofpods.ts');
  const { agents = 'sluice', ...where } = options;
  const { known, notes } = await namesOfPods([...pods].slice(0, MOST_PODS), { ...where, agents });
  const cluster = { ...state.cluster, resolved: known.cache.asOf(known.nowMs) };
  return { ...state, cluster, known, notes: [...state.notes, ...notes] };
}

/** Whether an answer of DNS may change it: what no rule by name allows is denied, and neither end is a pod. */
function isByName({ to, verdict, unresolved }: JudgedFlow): boolean {
  if (to.endpoint.domain !== undefined) return unresolved === 'deny';
  return verdict.verdict === 'deny' && podOf(to.endpoint) === undefined;
}

function casesOf(state: State, questions: readonly (Question | Unreadable)[], options: ExplainOptions) {
  return answered(ask(clusterViewOf(state, options), questions)).flatMap(({ answer }) => answer.cases);
}

function answered(asked: readonly QuestionResult[]) {
  return asked.flatMap(each => ('answer' in each ? [each] : []));
}

/** Policies that could not be read may decide anything. */
function withoutVerdict(asked: QuestionResult): QuestionResult {
  return 'answer' in asked ? { answer: inDoubt(asked.answer, HIDDEN) } : asked;
}

/** Policies that could not be read select no pod of the connection. */
function isWholeFor(asked: QuestionResult, { policiesOnlyOf, cluster }: State): boolean {
  return policiesOnlyOf !== undefined && 'answer' in asked && isWithin(asked.answer, cluster, policiesOnlyOf);
}

/** Addresses for which an agent is asked by which names they are allowed: a file of questions may have many more. */
const MOST_ADDRESSES = 20;

/**
 * The kinds of objects that the source and destination of the questions need: a question about two pods needs no right
 * to list Services.
 */
export function wantedBy(questions: readonly (Question | Unreadable)[]): QuestionNeeds {
  const ends = questions.flatMap(question => ('line' in question ? [] : endsOf(question)));
  const names = ends.map(({ name }) => name);
  const [only, ...others] = ends.length === 2 ? ends : [];
  const entrances = only !== undefined && others.length === 1 && isFromOutside(only);
  return {
    workloads: entrances || names.some(({ kind }) => kind === 'workload'),
    services: entrances || ends.some(mayBeService),
    entrances,
    addresses: [...new Set(names.flatMap(name => (name.kind === 'address' ? [name.address] : [])))].slice(
      0,
      MOST_ADDRESSES,
    ),
    namespaces: [...new Set(names.flatMap(name => ('namespace' in name ? [name.namespace!] : [])))],
  };
}

function mayBeService({ name, port }: NamedEndpoint): boolean {
  if (name.kind === 'domain') return shortServiceName(name.name) !== undefined;
  return name.kind === 'service' || (port !== undefined && ['address', 'node'].includes(name.kind));
}

/** Ends that cannot be parsed are reported later, when the question is asked. */
function endsOf({ from, to }: Question): NamedEndpoint[] {
  return [from, to].flatMap(text => {
    try {
      return [parseEndpoint(text)];
    } catch {
      return [];
    }
  });
}

/** Throws CommandError where the arguments do not fit one another, or the file cannot be read. */
async function readQuestions(
  from: string | undefined,
  to: string | undefined,
  file: string | undefined,
): Promise<readonly (Question | Unreadable)[]> {
  if (file === undefined) {
    if (from !== undefined && to !== undefined) return [{ from, to }];
    throw new CommandError('explain needs FROM and TO, or --flows FILE');
  }
  if (from !== undefined) throw new CommandError('explain takes either FROM and TO or --flows, not both');
  const content = await readText(file);
  const questions = questionsIn(content, file);
  // A line that cannot be read is an error, not a denial.
  if (questions.length === 0)
    throw new CommandError(`${file === '-' ? 'standard input' : file} holds no flow`);
  return questions;
}

function questionsIn(content: string, file: string): readonly (Question | Unreadable)[] {
  try {
    return parseQuestions(content);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof FlowTextError)
      throw new CommandError(`${file}: ${error.message}`);
    throw error;
  }
}

const CODES = { allow: 0, deny: 1, undecided: 2 } as const;

/** 0: all is allowed; 1: something is denied; 2: error or undecided. */
function exitCodeOf(asked: readonly QuestionResult[]): number {
  return Math.max(0, ...asked.map(each => ('error' in each ? 2 : CODES[each.answer.verdict])));
}
