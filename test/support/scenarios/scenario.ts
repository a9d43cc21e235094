/** Scenario files (test/scenarios/README.md) as data that any oracle can judge. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { type ExpectedMatrix, expandMatrix } from '../../../src/cli/test/file.ts';
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import { getOrMake } from '../../../src/lib/collections/getormake.ts';
import { type ClusterEvent, ClusterState } from '../../../src/model/cluster.ts';
import type { Flow } from '../../../src/model/flow.ts';
import type { UnknownPods } from '../../../src/model/podcidrs.ts';
import { type Problem, problemText } from '../../../src/model/problem.ts';
import { parseFlow } from '../../../src/semantics/flowtext.ts';

export interface Scenario {
  /** Relative to test/scenarios. */
  readonly file: string;
  readonly title: string;
  readonly proves: readonly string[];
  /** Parts of the texts of the problems that its objects must have; they may have no others. */
  readonly problems: readonly string[];
  /** The treatment of addresses that no known pod has. */
  readonly unknownPods: UnknownPods;
  /** Whether real packets can show it. */
  readonly packets: boolean;
  readonly steps: readonly ScenarioStep[];
  /** The problems that decoding its objects reported. */
  readonly reported: readonly Problem[];
}

interface ScenarioStep {
  readonly title: string;
  /** The events before the flows; those of the first step include all manifests. */
  readonly events: readonly ClusterEvent[];
  readonly flows: readonly FlowLine[];
  readonly matrices: readonly ExpectedMatrix[];
}

interface FlowLine {
  readonly flow: string;
  readonly verdict: Verdict;
  readonly by?: string;
}

export type Verdict = 'allow' | 'deny';

/** The cluster after the events of one step, and what must hold then. */
export interface Moment {
  readonly title: string;
  readonly events: readonly ClusterEvent[];
  /** The one state that all moments of a scenario share: read it before asking for the next moment. */
  readonly cluster: ClusterState;
  readonly expectations: readonly Expectation[];
}

export interface Expectation {
  readonly text: string;
  readonly flow: Flow;
  readonly verdict: Verdict;
  readonly by?: string;
}

const SCENARIO_FOLDER = fileURLToPath(new URL('../../scenarios', import.meta.url));

/** All scenarios, or those of one file or folder below test/scenarios. */
export function loadScenarios(within = ''): Scenario[] {
  return readdirSync(SCENARIO_FOLDER, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.yaml') && file.startsWith(within))
    .sort()
    .map(loadScenario);
}

/** The moments of a scenario, one for each step, in order. */
export function* play(scenario: Scenario): Generator<Moment> {
  const cluster = new ClusterState();
  for (const { title, events, flows, matrices } of scenario.steps) {
    for (const event of events) cluster.apply(event);
    const lines = flows.map(line => ({ ...line, text: line.flow, flow: parseFlow(cluster, line.flow) }));
    const cells = matrices.flatMap(matrix => expandMatrix(cluster, matrix));
    yield { title, events, cluster, expectations: [...lines, ...cells] };
  }
}

/** The wrong answers of an oracle, one line each: file, step, flow, expected, got. */
export function failures(scenario: Scenario, moment: Moment, oracle: (flow: Flow) => Verdict): string[] {
  return moment.expectations.flatMap(({ text, flow, verdict }) => {
    const got = oracle(flow);
    return got === verdict ? [] : [failure(scenario, moment, text, verdict, got)];
  });
}

export function failure(scenario: Scenario, moment: Moment, text: string, want: string, got: string): string {
  return `${scenario.file}, ${moment.title}: ${text}: expected ${want}, got ${got}`;
}

/** How the reported problems differ from the expected ones. */
export function problemFailures({ file, problems, reported }: Scenario): string[] {
  const texts = reported.map(problemText);
  const missing = problems.filter(part => !texts.some(text => text.includes(part)));
  const surplus = texts.filter(text => !problems.some(part => text.includes(part)));
  return [
    ...missing.map(part => `${file}: expected a problem that says "${part}"`),
    ...surplus.map(text => `${file}: unexpected problem: ${text}`),
  ];
}

interface ScenarioFile {
  readonly title: string;
  readonly proves: readonly string[];
  readonly include?: readonly string[];
  readonly manifests?: readonly unknown[];
  readonly problems?: readonly string[];
  readonly unknownPods?: UnknownPods;
  readonly packets?: boolean;
  readonly steps: readonly StepFile[];
}

interface StepFile {
  readonly title?: string;
  readonly apply?: readonly unknown[];
  readonly delete?: readonly string[];
  readonly flows?: readonly FlowLine[];
  readonly matrix?: ExpectedMatrix | readonly ExpectedMatrix[];
}

function loadScenario(file: string): Scenario {
  const path = join(SCENARIO_FOLDER, file);
  const scenario = check(file, documents(path)[0] as ScenarioFile);
  const reported: Problem[] = [];
  const included = (scenario.include ?? []).flatMap(other => includedDocuments(join(dirname(path), other)));
  const decode = (objects: readonly unknown[]) => objects.flatMap(object => decodeEvent(object, reported));
  const manifests = decode([...included, ...(scenario.manifests ?? [])]);
  const steps = scenario.steps.map((step, at) => ({
    title: step.title ?? `step ${at + 1}`,
    events: [
      ...(at === 0 ? manifests : []),
      ...decode(step.apply ?? []),
      ...(step.delete ?? []).map(text => deletion(file, text)),
    ],
    flows: step.flows ?? [],
    matrices: [step.matrix ?? []].flat(),
  }));
  const { title, proves, problems = [], unknownPods = 'allow', packets = true } = scenario;
  return { file, title, proves, problems, unknownPods, packets, steps, reported };
}

const parsed = new Map<string, unknown[]>();

/** Parsed once: five files are included by two hundred scenarios. */
function includedDocuments(path: string): unknown[] {
  return getOrMake(parsed, path, () => documents(path));
}

function documents(path: string): unknown[] {
  return parseAllDocuments(readFileSync(path, 'utf8'), { merge: true }).map(document => {
    if (document.errors[0]) throw new Error(`${relative('.', path)}: ${document.errors[0].message}`);
    return document.toJS();
  });
}

/** An event, none where a decoder refused the object; what it reported is kept. */
function decodeEvent(object: unknown, reported: Problem[]): ClusterEvent[] {
  const { event, problems } = decodeObject(object);
  reported.push(...problems);
  return event === undefined ? [] : [event];
}

function deletion(file: string, text: string): ClusterEvent {
  const [kind = '', name = ''] = text.split(' ');
  switch (kind) {
    case 'Namespace':
      return { type: 'namespace', key: name };
    case 'Node':
      return { type: 'node', key: name };
    case 'Pod':
      return { type: 'pod', key: name as `${string}/${string}` };
    case 'NetworkPolicy':
    case 'ClusterNetworkPolicy':
    case 'AdminNetworkPolicy':
    case 'BaselineAdminNetworkPolicy':
      return { type: 'policy', key: `${kind} ${name}` };
    default:
      throw new Error(`${file}: cannot delete "${text}"`);
  }
}

/** A misspelt word in a scenario would quietly prove less than it says. */
function check(file: string, scenario: ScenarioFile): ScenarioFile {
  onlyKeys(file, scenario, [
    'title',
    'proves',
    'include',
    'manifests',
    'problems',
    'unknownPods',
    'packets',
    'steps',
  ]);
  for (const step of scenario.steps) {
    onlyKeys(file, step, ['title', 'apply', 'delete', 'flows', 'matrix']);
    for (const line of step.flows ?? []) {
      onlyKeys(file, line, ['flow', 'verdict', 'by']);
      if (line.verdict !== 'allow' && line.verdict !== 'deny')
        throw new Error(`${file}: ${line.flow}: verdict is allow or deny`);
    }
    for (const matrix of [step.matrix ?? []].flat())
      onlyKeys(file, matrix, ['port', 'protocol', 'family', 'deny']);
    if (step.flows === undefined && step.matrix === undefined)
      throw new Error(`${file}: a step expects nothing`);
  }
  return scenario;
}

function onlyKeys(file: string, object: object, allowed: readonly string[]): void {
  const unknown = Object.keys(object).filter(key => !allowed.includes(key));
  if (unknown.length > 0) throw new Error(`${file}: unknown key ${unknown.join(', ')}`);
}
