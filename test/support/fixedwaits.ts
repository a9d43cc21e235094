/**
 * Waits of tests for a duration: what is awaited of a timer, where the duration is not what a caller says, and which is
 * not the short pause of a loop that asks whether something has come.
 */
import { parseAst } from 'rolldown/parseAst';

/** The longest pause between two questions, in milliseconds. */
const MOST_OF_POLL = 100;
const LOOPS = new Set(['DoWhileStatement', 'ForStatement', 'ForOfStatement', 'WhileStatement']);

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** The fixed waits in a source text, each as text: `setTimeout(300)`. */
export function fixedWaits(text: string): string[] {
  const program = parseAst(text, { lang: 'ts' }) as unknown as Node;
  const names = waitersIn(program);
  return callsIn(program)
    .filter(({ call, path }) => isWait(call, path, names) && !isPoll(call, path) && !isOfCaller(call, path))
    .map(({ call }) => text.slice(call.start, call.end).split('\n', 1)[0]!);
}

/** Names that are called to wait: timers that are imported, and functions that wait as long as a parameter says. */
function waitersIn(program: Node): Set<string> {
  const names = new Set<string>();
  for (const { type, source, specifiers } of nodesIn(program.body)) {
    if (type !== 'ImportDeclaration') continue;
    const isOfTimers = valueIn(source as Node) === 'node:timers/promises';
    for (const { imported, local } of nodesIn(specifiers))
      if ((isOfTimers ? /^setTimeout$/ : /^sleep$/).test(nameOf(imported as Node)))
        names.add(nameOf(local as Node));
  }
  for (const { call, path } of callsIn(program))
    if (isWait(call, path, names) && !isPoll(call, path))
      for (const name of waiting(call, path)) names.add(name);
  return names;
}

/** A global timer is one where it fulfils a promise, and calls nothing else. */
function isWait(
  { callee, arguments: words }: Node,
  path: readonly Node[],
  names: ReadonlySet<string>,
): boolean {
  const name = nameOf(callee as Node);
  const fulfils = path.some(isPromise) && nodesIn(words)[0]?.type === 'Identifier';
  return names.has(name) || (name === 'setTimeout' && fulfils);
}

/** Whether it is in a loop of its function, and short. */
function isPoll(call: Node, path: readonly Node[]): boolean {
  const from = path.findLastIndex((node, at) => isFunction(node) && !isPromise(path[at - 1]!));
  const isInLoop = path.slice(from + 1).some(({ type }) => LOOPS.has(type));
  return isInLoop && (isOfCaller(call, path) || shortest(durationOf(call)) <= MOST_OF_POLL);
}

const isPromise = ({ type, callee }: Node) =>
  type === 'NewExpression' && nameOf(callee as Node) === 'Promise';

/** Whether the caller chooses the duration: by a parameter, or a property of an object. */
function isOfCaller(call: Node, path: readonly Node[]): boolean {
  const parts = inside([durationOf(call)]);
  return (
    parts.some(node => node.type === 'MemberExpression' && !isShouted(node)) || owners(call, path).length > 0
  );
}

/** The functions around it of whose parameters the duration is made. */
function owners(call: Node, path: readonly Node[]): Node[] {
  const parts = new Set(inside([durationOf(call)]).map(nameOf));
  const has = ({ params }: Node) =>
    inside(nodesIn(params)).some(node => node.type === 'Identifier' && parts.has(nameOf(node)));
  return path.filter(node => isFunction(node) && has(node));
}

/** Names of functions that wait for their parameter: `const pause = (ms) => …`, `function pause(ms)`. */
function waiting(call: Node, path: readonly Node[]): string[] {
  const named = owners(call, path).map(owner => {
    const before = path[path.indexOf(owner) - 1];
    return nameOf((owner.id ?? (before?.type === 'VariableDeclarator' ? before.id : undefined)) as Node);
  });
  return named.filter(name => name !== '');
}

/** `KILL.everyMs` is a constant. */
const isShouted = ({ object }: Node) => /^[A-Z_]+$|^Math$/.test(nameOf(object as Node));

const isFunction = ({ type }: Node) => /Function/.test(type);

/** The duration in `setTimeout(resolve, 20)` or `setTimeout(20)`. */
function durationOf(call: Node): Node {
  const [first, second] = nodesIn(call.arguments);
  const isCallback = nameOf(call.callee as Node) === 'setTimeout' && second !== undefined;
  return (isCallback ? second : first) ?? call;
}

/**
 * The least value of a duration: of a product with the slowness factor of emulated machines, its constant; an
 * expression without a constant counts as long.
 */
function shortest(duration: Node): number {
  if (duration.type === 'Literal') return Number(duration.value);
  if (duration.type !== 'BinaryExpression' || nameOf(duration.right as Node) !== 'SLOW') return Infinity;
  return shortest(duration.left as Node);
}

function callsIn(program: Node): { readonly call: Node; readonly path: readonly Node[] }[] {
  const found: { call: Node; path: readonly Node[] }[] = [];
  const visit = (node: Node, path: readonly Node[]) => {
    if (node.type === 'CallExpression') found.push({ call: node, path });
    for (const child of childrenOf(node)) visit(child, [...path, node]);
  };
  visit(program, []);
  return found;
}

function inside(nodes: readonly Node[]): Node[] {
  return nodes.flatMap(node => [node, ...inside(childrenOf(node))]);
}

const childrenOf = (node: Node): Node[] => Object.values(node).flatMap(nodesIn);

function nodesIn(value: unknown): Node[] {
  if (Array.isArray(value)) return value.flatMap(nodesIn);
  return typeof value === 'object' && value !== null && 'type' in value ? [value as Node] : [];
}

const nameOf = (node: Node | undefined) => String(node?.name ?? '');
const valueIn = (node: Node) => String(node.value);
