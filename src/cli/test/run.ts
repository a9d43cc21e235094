/** Runs a file of expected flows against its cluster. */

import { answer, type Question, reasonOf, verdictOfCase } from '../../answers/questions/answer.ts';
import { evaluateAll } from '../../answers/questions/completions.ts';
import { parseEndpoint } from '../../answers/questions/endpoint.ts';
import { walkSeen } from '../../answers/questions/judge.ts';
import type { ClusterView } from '../../answers/questions/place.ts';
import { doubtsOf } from '../../answers/questions/undecided.ts';
import { flowsWithin, isWithin } from '../../answers/questions/within.ts';
import { decodeObject } from '../../inputs/kube/decode/decode.ts';
import { decodeInventory } from '../../inputs/kube/decode/inventory.ts';
import { ClusterState } from '../../model/cluster.ts';
import { clusterEvents } from '../../model/clusterevents.ts';
import type { Flow } from '../../model/flow.ts';
import { inventoryOf, mergedInventory } from '../../model/inventory.ts';
import type { PolicyId, PolicyKind } from '../../model/policy.ts';
import { problemText } from '../../model/problem.ts';
import { deciderNames } from '../../semantics/decidernames.ts';
import { type Walk, walk } from '../../semantics/explain.ts';
import { FlowTextError, parseFlow } from '../../semantics/flowtext.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { type ExpectedFlow, expandMatrix, type TestFile, type TestStep } from './file.ts';

export interface TestCase {
  readonly step?: string;
  readonly flow: string;
  readonly expected: 'allow' | 'deny';
  /** Absent where it holds. */
  readonly failure?: string;
  /** There is no verdict: the flow cannot be read, or is undecided. */
  readonly isError?: true;
}

export interface TestResult {
  readonly file: string;
  readonly title: string;
  readonly cases: readonly TestCase[];
  /** Notes on what the verdicts lack. */
  readonly notes: readonly string[];
}

/**
 * `base` has the objects of the file's paths and of the command line; `notes` say what it lacks. Policies of the file
 * that are left out are not applied.
 */
export function runTestFile(
  file: TestFile,
  base: ClusterView,
  notes: readonly string[] = [],
  isLeftOut: (id: PolicyId) => boolean = () => false,
): TestResult {
  const test = { ...file, isLeftOut };
  const cluster = new ClusterState();
  for (const event of clusterEvents(base.cluster)) cluster.apply(event);
  const items = test.objects.flatMap(object => decodeInventory(object).item ?? []);
  const inventory = mergedInventory([base.inventory, inventoryOf(items)]);
  applyAll(test, cluster, test.objects);
  const { unknownPods = base.unknownPods, masquerade = base.masquerade } = test;
  const isSaid = test.unknownPods !== undefined;
  const view = {
    ...{ ...base, cluster, inventory, unknownPods },
    ...(masquerade && { masquerade }),
    ...(base.guesses && isSaid && { guesses: { ...base.guesses, unknownPods: false } }),
  };
  const cases = test.steps.flatMap(step => runStep(test, step, cluster, view));
  return { file: test.file, title: test.title, cases, notes };
}

type RunFile = TestFile & { readonly isLeftOut: (id: PolicyId) => boolean };

function runStep(test: RunFile, step: TestStep, cluster: ClusterState, view: ClusterView): TestCase[] {
  applyAll(test, cluster, step.apply);
  for (const text of step.delete) remove(test.file, cluster, text);
  const title = step.title === undefined ? {} : { step: step.title };
  const flows = step.flows.map(flow => ({ ...title, ...judgeFlow(view, flow) }));
  const pairs = step.matrices
    .flatMap(matrix => expandMatrix(cluster, matrix))
    .map(({ text, verdict, flow }) => {
      const { found, doubt } = judgeLiteral(view, flow);
      const test = { ...title, flow: text, expected: verdict };
      if (doubt !== undefined) return { ...test, failure: doubt, isError: true as const };
      return found.verdict === verdict
        ? test
        : { ...test, failure: `expected ${verdict}, got ${found.verdict}` };
    });
  return [...flows, ...pairs];
}

const BEYOND =
  'undecided: an end is, or may be, a pod of another namespace, and what policies say of it could not be read';

/** The verdict on a flow between addresses, the cluster in which it holds, and why it may be wrong. */
function judgeLiteral(view: ClusterView, flow: Flow) {
  const { found, undecided, known } = evaluateAll(view.cluster, flow, view.unknownPods);
  const judged = { flow, verdict: found };
  const doubt = isKnown(view, flow)
    ? (undecided ?? doubtsOf(known, [judged], view).undecided.get(judged))
    : BEYOND;
  return { found, known, doubt };
}

/** Whether all policies are known that may decide the flow. */
function isKnown({ cluster, policiesOnlyOf }: ClusterView, flow: Flow): boolean {
  return policiesOnlyOf === undefined || flowsWithin(cluster, policiesOnlyOf)(flow);
}

/** Fails if an object cannot be read: the test would prove less than it says. */
function applyAll(
  { file, problems, isLeftOut }: RunFile,
  cluster: ClusterState,
  objects: readonly unknown[],
): void {
  for (const object of objects) {
    const decoded = decodeObject(object);
    const { event } = decoded;
    if (event !== undefined && !(event.type === 'policy' && isLeftOut(event.key))) cluster.apply(event);
    const surprise = decoded.problems
      .map(problemText)
      .find(text => !problems.some(part => text.includes(part)));
    if (surprise !== undefined) throw new CommandError(`${file}: ${surprise}`);
  }
}

function remove(file: string, cluster: ClusterState, text: string): void {
  const [kind = '', name = ''] = text.split(' ');
  if (kind === 'Namespace') cluster.apply({ type: 'namespace', key: name });
  else if (kind === 'Node') cluster.apply({ type: 'node', key: name });
  else if (kind === 'Pod') cluster.apply({ type: 'pod', key: name as `${string}/${string}` });
  else if (kind.endsWith('NetworkPolicy'))
    cluster.apply({ type: 'policy', key: `${kind as PolicyKind} ${name}` });
  else throw new CommandError(`${file}: cannot delete "${text}"`);
}

function judgeFlow(view: ClusterView, { flow, verdict, by }: ExpectedFlow): TestCase {
  const test = { flow, expected: verdict };
  try {
    const failure = isLiteral(flow)
      ? wrongFlow(view, flow, verdict, by)
      : wrongAnswer({ ...view, isBehindServices: true }, flow, verdict, by);
    return failure === undefined ? test : { ...test, failure };
  } catch (error) {
    if (!(error instanceof FlowTextError)) throw error;
    return { ...test, failure: error.message, isError: true };
  }
}

/** To a pod, through a Service; or to an address, from another one or from a pod by its whole name. */
function isLiteral(flow: string): boolean {
  if (/ via service$/.test(flow)) return true;
  return TO_ADDRESS.test(flow) && isLiteralSource(flow.split('->')[0]!.trim());
}

const TO_ADDRESS = /->\s*(\[|\d+(\.\d+){3}|[^/\s]*:[^/\s]*:)/;

/** A source that cannot be read is refused in the same way as a wrong literal address. */
function isLiteralSource(text: string): boolean {
  try {
    const { name } = parseEndpoint(text);
    return name.kind === 'address' || (name.kind === 'pod' && name.namespace !== undefined);
  } catch (error) {
    if (!(error instanceof FlowTextError)) throw error;
    return true;
  }
}

function wrongFlow(
  view: ClusterView,
  text: string,
  expected: string,
  by: string | undefined,
): string | undefined {
  const flow = parseFlow(view.cluster, text);
  const { found, known, doubt } = judgeLiteral(view, flow);
  if (doubt !== undefined) throw new FlowTextError(doubt);
  const { reason } = found.egress.verdict === 'deny' ? found.egress : found.ingress;
  if (found.verdict !== expected) return `expected ${expected}, got ${found.verdict}: ${reason}`;
  return by === undefined ? undefined : wrongDecider(walk(known, flow, view.unknownPods), expected, by);
}

export function endsOf(flow: string): Question {
  const [from = '', to = ''] = flow.split('->').map(end => end.trim());
  return { from, to };
}

/** The flow's verdict must hold for every address and endpoint that it means. */
function wrongAnswer(
  view: ClusterView,
  flow: string,
  expected: string,
  by: string | undefined,
): string | undefined {
  const found = answer(view, endsOf(flow));
  const { cluster, policiesOnlyOf } = view;
  if (policiesOnlyOf && !isWithin(found, cluster, policiesOnlyOf)) throw new FlowTextError(BEYOND);
  if (found.verdict === 'undecided') throw new FlowTextError(found.reason);
  const wrong = found.cases.find(each => verdictOfCase(each) !== expected);
  if (wrong !== undefined) {
    if (wrong.undecided !== undefined) throw new FlowTextError(wrong.undecided);
    const where = found.differsBy.length === 0 ? '' : ` from ${wrong.flow.from} to ${wrong.flow.to}`;
    return `expected ${expected}, got ${wrong.verdict.verdict}${where}: ${reasonOf(wrong)}`;
  }
  if (by === undefined) return undefined;
  return found.cases
    .map(each => wrongDecider(walkSeen(found.cluster, each, view.unknownPods), expected, by))
    .find(failure => failure !== undefined);
}

function wrongDecider({ egress, ingress }: Walk, expected: string, by: string): string | undefined {
  const direction = by.startsWith('egress') ? egress : ingress;
  const found = direction.verdict.verdict === expected ? deciderNames(direction) : [];
  if (found.includes(by)) return undefined;
  return `expected ${expected} by ${by}, got by ${found.join(' or ') || 'nothing there'}`;
}
