/** A file of expected flows, as data: docs/test.md has its format. */
import { dirname, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Masquerade } from '../../answers/questions/place.ts';
import { didYouMean } from '../../lib/text/didyoumean.ts';
import { familyOf } from '../../model/address.ts';
import { type Cluster, isSelectable, type Pod, type PodKey } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Protocol } from '../../model/policy.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { readText } from '../sources/files.ts';

export interface TestFile {
  readonly file: string;
  readonly title: string;
  /** Folders and files as paths from here. A path that both the file and the command line name is one. */
  readonly paths: readonly string[];
  /** Kubernetes objects that the file holds itself. */
  readonly objects: readonly unknown[];
  readonly unknownPods?: UnknownPods;
  readonly masquerade?: Masquerade;
  /** Parts of the problems that its objects may have. */
  readonly problems: readonly string[];
  readonly steps: readonly TestStep[];
}

export interface TestStep {
  readonly title?: string;
  readonly apply: readonly unknown[];
  /** `NetworkPolicy shop/web`. */
  readonly delete: readonly string[];
  readonly flows: readonly ExpectedFlow[];
  readonly matrices: readonly ExpectedMatrix[];
}

export interface ExpectedFlow {
  /** `shop/web -> shop/db:5432/TCP`. */
  readonly flow: string;
  readonly verdict: 'allow' | 'deny';
  /** `ingress NetworkPolicy shop/db ingress[0]`. */
  readonly by?: string;
}

/**
 * Throws CommandError if the file cannot be read, or has an unknown field: with a misspelt one it would test less than
 * it says.
 */
export async function readTestFile(file: string): Promise<TestFile> {
  const [document] = await documentsOf(file);
  const fields = mapOf(file, 'the file', document);
  const included = listOf(file, 'include', fields.include).map(path => resolve(dirname(file), String(path)));
  const objects: unknown[] = [];
  for (const path of included) objects.push(...(await documentsOf(path)));
  return testFileOf(file, fields, objects);
}

/** With YAML's merge keys, which manifests do not have: a file of a test may be written more briefly. */
async function documentsOf(file: string): Promise<unknown[]> {
  return parseAllDocuments(await readText(file), { merge: true }).map(document => {
    if (document.errors[0]) throw new CommandError(`${file}: ${document.errors[0].message.split('\n')[0]}`);
    return document.toJS();
  });
}

type Fields = Readonly<Record<string, unknown>>;

const FILE_KEYS = [
  'title',
  'manifests',
  'include',
  'unknownPods',
  'masquerade',
  'steps',
  'flows',
  'matrix',
  'proves',
  'problems',
  'packets',
];
const STEP_KEYS = ['title', 'apply', 'delete', 'flows', 'matrix'];

function testFileOf(file: string, fields: Fields, included: readonly unknown[]): TestFile {
  if (fields.apiVersion !== undefined && fields.kind !== undefined)
    throw new CommandError(`${file} holds Kubernetes objects, and is no test: a test names it as manifests`);
  onlyKeys(file, 'the file', fields, FILE_KEYS);
  const { title = file === '-' ? 'standard input' : file, unknownPods, masquerade } = fields;
  if (unknownPods !== undefined && unknownPods !== 'allow' && unknownPods !== 'deny')
    throw new CommandError(`${file}: unknownPods is allow or deny`);
  if (masquerade !== undefined && masquerade !== 'yes' && masquerade !== 'no')
    throw new CommandError(`${file}: masquerade is yes or no`);
  const given = listOf(file, 'manifests', fields.manifests);
  const steps = listOf(file, 'steps', fields.steps).map(step => stepOf(file, mapOf(file, 'steps', step)));
  const own =
    fields.flows === undefined && fields.matrix === undefined ? [] : [stepOf(file, ownStep(fields))];
  if (own.length + steps.length === 0)
    throw new CommandError(`${file} expects nothing: it has neither flows nor steps`);
  return {
    file,
    title: String(title),
    paths: given.filter(each => typeof each === 'string').map(path => resolve(dirname(file), path)),
    objects: [...included, ...given.filter(each => typeof each !== 'string')],
    ...(unknownPods && { unknownPods }),
    ...(masquerade && { masquerade }),
    problems: listOf(file, 'problems', fields.problems).map(String),
    steps: [...own, ...steps],
  };
}

function ownStep({ flows, matrix }: Fields): Fields {
  return { ...(flows !== undefined && { flows }), ...(matrix !== undefined && { matrix }) };
}

function stepOf(file: string, fields: Fields): TestStep {
  onlyKeys(file, 'a step', fields, STEP_KEYS);
  const flows = listOf(file, 'flows', fields.flows).map(flow => expectedFlow(file, flow));
  const matrices = [fields.matrix ?? []].flat().map(matrix => matrixOf(file, matrix));
  if (flows.length + matrices.length === 0) throw new CommandError(`${file}: a step expects nothing`);
  return {
    ...(fields.title !== undefined && { title: String(fields.title) }),
    apply: listOf(file, 'apply', fields.apply),
    delete: listOf(file, 'delete', fields.delete).map(String),
    flows,
    matrices,
  };
}

const LINE = /^(?<flow>.*->.*\S)\s+(?<verdict>allow|deny)(?:\s+by\s+(?<by>.*))?$/;

/** `x/a -> y/b:80 deny`, or its parts. */
function expectedFlow(file: string, given: unknown): ExpectedFlow {
  const fields =
    typeof given === 'string' ? (LINE.exec(given.trim())?.groups ?? {}) : mapOf(file, 'flows', given);
  onlyKeys(file, 'a flow', fields, ['flow', 'verdict', 'by']);
  const { flow, verdict, by } = fields;
  if (typeof flow !== 'string' || (verdict !== 'allow' && verdict !== 'deny'))
    throw new CommandError(
      `${file}: cannot parse ${JSON.stringify(given)}: expected "FROM -> TO[:PORT][/PROTOCOL] allow" or deny`,
    );
  return { flow, verdict, ...(by !== undefined && { by: String(by) }) };
}

function matrixOf(file: string, given: unknown): ExpectedMatrix {
  const fields = mapOf(file, 'matrix', given);
  onlyKeys(file, 'a matrix', fields, ['port', 'protocol', 'family', 'deny']);
  if (typeof fields.port !== 'number') throw new CommandError(`${file}: a matrix has no port`);
  return { ...fields, deny: listOf(file, 'deny', fields.deny).map(String) } as unknown as ExpectedMatrix;
}

function mapOf(file: string, what: string, value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new CommandError(`${file}: ${what} is not a map of fields`);
}

function listOf(file: string, what: string, value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  if (typeof value === 'string') return [value];
  throw new CommandError(`${file}: ${what} is not a list`);
}

function onlyKeys(file: string, what: string, fields: Fields, allowed: readonly string[]): void {
  const unknown = Object.keys(fields).filter(key => !allowed.includes(key));
  if (unknown.length === 0) return;
  const close = didYouMean(unknown[0]!, allowed);
  const hint = close === undefined ? '' : `; did you mean ${close}?`;
  throw new CommandError(`${file}: ${what} takes no field ${unknown.join(', ')}${hint}`);
}

// Every pair of pods of a cluster, and which of them must be closed.

/** A flow, and its expected verdict. */
export interface PairExpectation {
  readonly text: string;
  readonly verdict: 'allow' | 'deny';
  readonly flow: Flow;
}

export interface ExpectedMatrix {
  readonly port: number;
  readonly protocol?: Protocol;
  /** The only address family to test; absent: both. */
  readonly family?: 4 | 6;
  /** `FROM -> TO`, each `*`, `namespace/*` or `namespace/pod`. All other pairs are open. */
  readonly deny: readonly string[];
}

/** One expectation for each pair of pods and each family that both have; none from a pod to itself. */
export function expandMatrix(cluster: Cluster, matrix: ExpectedMatrix): PairExpectation[] {
  const pods = [...cluster.pods.values()].filter(pod => isSelectable(pod) && pod.addresses.length > 0);
  const closed = matrix.deny.map(pattern => compilePattern(pattern, pods));
  return pods.flatMap(from =>
    pods
      .filter(to => to !== from)
      .flatMap(to => {
        const isClosed = closed.some(matches => matches(from.key, to.key));
        return pairOf(from, to, matrix, isClosed ? 'deny' : 'allow');
      }),
  );
}

function pairOf(from: Pod, to: Pod, matrix: ExpectedMatrix, verdict: 'allow' | 'deny'): PairExpectation[] {
  const { port, protocol = 'TCP', family } = matrix;
  const wanted = family && (family === 4 ? 'ip' : 'ip6');
  return from.addresses
    .filter(address => wanted === undefined || familyOf(address) === wanted)
    .flatMap(source => {
      const destination = to.addresses.find(address => familyOf(address) === familyOf(source));
      if (destination === undefined) return [];
      const text = `${from.key} -> ${to.key}@${familyOf(source) === 'ip' ? 4 : 6}:${port}/${protocol}`;
      return [{ text, verdict, flow: { from: source, to: destination, protocol, port } }];
    });
}

function compilePattern(pattern: string, pods: readonly Pod[]): (from: PodKey, to: PodKey) => boolean {
  const ends = pattern.split(' -> ');
  const [from, to] = ends.map(end => keysOf(end, pods));
  // A pattern that matches no pod would forbid nothing.
  if (!from?.size || !to?.size || ends.length !== 2)
    throw new CommandError(`matrix: "${pattern}" names no pods`);
  return (source, destination) => from.has(source) && to.has(destination);
}

function keysOf(end: string, pods: readonly Pod[]): Set<PodKey> {
  const matches = (pod: Pod) =>
    end === '*' || end === pod.key || (end.endsWith('/*') && end === `${pod.namespace}/*`);
  return new Set(pods.filter(matches).map(pod => pod.key));
}
