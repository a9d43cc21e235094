import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { familyOf } from '../model/address.ts';
import { addressOwners, type Cluster } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import { type Problem, problemText } from '../model/problem.ts';
import { natNote } from '../readback/natnote.ts';
import type { DirectionVerdict, FlowVerdict } from '../semantics/evaluate.ts';
import { evaluator } from '../semantics/evaluate.ts';
import { type DirectionWalk, type Stop, walk } from '../semantics/explain.ts';
import { endName, FlowTextError, flowText, otherFamily, parseFlowPieces } from '../semantics/flowtext.ts';
import pc from '../terminal/colours.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { type OutputOptions, writeLine } from '../terminal/output.ts';
import { type ClusterOptions, readCluster } from './readcluster.ts';

export type ExplainOptions = OutputOptions &
  ClusterOptions & { readonly flows?: string; readonly unknownPods?: UnknownPods };

/** A connection as it was asked for. */
interface Question {
  readonly from: string;
  readonly to: string;
}

/** A line that asks nothing. */
interface Unreadable {
  readonly line: string;
}

/** `sluice explain FROM TO[:PORT[/PROTOCOL]]`, or many with `--flows FILE`: of `--manifests DIR`, or of the agent's cluster. */
export async function explainCommand(
  from: string | undefined,
  to: string | undefined,
  options: ExplainOptions,
): Promise<void> {
  const questions = await questionsOf(from, to, options.flows);
  const read = await readCluster(options);
  const { cluster, problems } = read;
  const unknownPods = options.unknownPods ?? read.unknownPods ?? 'allow';
  warnOf(problems);
  const asked = questions.map(question => askedOf(cluster, question));
  const only = options.flows === undefined ? asked[0] : undefined;
  if (only !== undefined && 'error' in only) throw new CommandError(only.error);
  if (options.output === 'json') writeJson(cluster, unknownPods, asked);
  else if (only !== undefined) writeAnswer(cluster, unknownPods, only.question, only.flow);
  else writeList(cluster, unknownPods, asked);
}

async function questionsOf(from?: string, to?: string, flows?: string): Promise<(Question | Unreadable)[]> {
  if (flows === undefined) {
    if (from === undefined || to === undefined)
      throw new CommandError('explain needs FROM and TO, or --flows FILE');
    return [{ from, to }];
  }
  if (from !== undefined) throw new CommandError('explain takes either FROM and TO or --flows, not both');
  const lines = (await readFlows(flows)).split('\n').map(line => line.replace(/#.*/, '').trim());
  return lines.flatMap(line => (line === '' ? [] : [questionOf(line)]));
}

async function readFlows(path: string): Promise<string> {
  if (path === '-') return text(process.stdin);
  return readFile(path, 'utf8').catch(error => {
    throw new CommandError(`cannot read ${path}: ${(error as Error).message}`);
  });
}

function questionOf(line: string): Question | Unreadable {
  const [from, to, ...rest] = line.replace('->', ' ').split(/\s+/);
  return to === undefined || rest.length > 0 ? { line } : { from: from!, to };
}

function askedOf(cluster: Cluster, question: Question | Unreadable): Asked {
  if ('line' in question) {
    process.exitCode = 1;
    return { question, error: 'is no question: write FROM TO[:PORT[/PROTOCOL]]' };
  }
  try {
    return { question, flow: parseFlowPieces(cluster, question.from, question.to) };
  } catch (error) {
    if (!(error instanceof FlowTextError)) throw error;
    process.exitCode = 1;
    return { question, error: error.message };
  }
}

/** Answers are made from what could be read; what could not is said first, and never on standard output. */
export function warnOf(problems: readonly Problem[]): void {
  for (const problem of problems.filter(({ severity }) => severity === 'error')) {
    process.stderr.write(`${pc.yellow('note')}: ${problemText(problem)}\n`);
  }
}

/** A question, and the flow that it means or what is wrong with it. */
type Asked =
  | { readonly question: Question; readonly flow: Flow }
  | { readonly question: Question | Unreadable; readonly error: string };

/** One object a line, in the order of the questions. */
function writeJson(cluster: Cluster, unknownPods: UnknownPods, asked: readonly Asked[]): void {
  const evaluate = evaluator(cluster, unknownPods);
  for (const each of asked) {
    if ('error' in each) writeLine(JSON.stringify({ ...each.question, error: each.error }));
    else {
      const { port, protocol } = each.flow;
      const ends = { from: endName(each.question.from), to: endName(each.question.to) };
      const addresses = { from: each.flow.from, to: each.flow.to };
      const note = natNote(cluster, each.question.to, each.flow);
      writeLine(JSON.stringify({ ...ends, port, protocol, ...evaluate(each.flow), addresses, note }));
    }
  }
}

function writeList(cluster: Cluster, unknownPods: UnknownPods, asked: readonly Asked[]): void {
  const evaluate = evaluator(cluster, unknownPods);
  for (const each of asked) {
    const { question } = each;
    const words = 'line' in question ? `"${question.line}"` : `${question.from} -> ${question.to}`;
    if ('error' in each) writeLine(`${pc.yellow('error')}  ${words}  ${each.error}`);
    else {
      const answer = evaluate(each.flow);
      const note = natNote(cluster, each.question.to, each.flow);
      const why = [decisive(answer).reason, ...(note === undefined ? [] : [note])].join('; ');
      writeLine(`${verdictWord(answer.verdict)}  ${words}  ${pc.dim(why)}`);
    }
  }
}

/** The direction whose reason matters most: the one that denies, else the one that a policy decided. */
function decisive({ egress, ingress }: FlowVerdict): DirectionVerdict {
  if (egress.verdict === 'deny') return egress;
  if (ingress.verdict === 'deny' || ingress.policy !== undefined) return ingress;
  return egress.policy === undefined ? ingress : egress;
}

/** A pod of two families is asked about in one breath: the second is told in a line where it goes the same way. */
function writeAnswer(cluster: Cluster, unknownPods: UnknownPods, { from, to }: Question, flow: Flow): void {
  writeWalk(cluster, unknownPods, flow);
  const note = natNote(cluster, to, flow);
  if (note !== undefined) writeLine(pc.dim(`\n${note}`));
  const other = otherFamily(cluster, from, to);
  if (other === undefined) return;
  const judge = evaluator(cluster, unknownPods);
  const [same, asked] = [judge(flow).verdict, judge(other).verdict];
  const [family, at] = familyOf(other.to) === 'ip6' ? ['IPv6', '@6'] : ['IPv4', '@4'];
  if (same === asked) writeLine(pc.dim(`\n${asked} over ${family} too: ${flowText(other)}`));
  else
    writeLine(`\n${verdictWord(asked)}  over ${family}: ${flowText(other)}; ask for ${from}${at} to see why`);
}

function writeWalk(cluster: Cluster, unknownPods: UnknownPods, flow: Flow): void {
  const { verdict, egress, ingress } = walk(cluster, flow, unknownPods);
  writeLine(`${verdictWord(verdict)}  ${pc.bold(namedFlow(cluster, flow))}`);
  for (const direction of [egress, ingress]) writeDirection(direction);
}

function namedFlow(cluster: Cluster, flow: Flow): string {
  const owners = addressOwners(cluster);
  const name = (address: Flow['from']) => {
    const pod = owners.get(address);
    return pod === undefined ? address : `${pod.key} (${address})`;
  };
  const [, target = ''] = flowText(flow).split(' -> ');
  const tail = target.slice(target.indexOf(flow.to) + flow.to.length).replace(/^\]/, '');
  return `${name(flow.from)} -> ${name(flow.to)}${tail}`;
}

function writeDirection({ direction, pod, verdict, stops }: DirectionWalk): void {
  const whose = pod === undefined ? '' : ` of ${pod}`;
  writeLine(`\n${verdictWord(verdict.verdict)}  ${direction}${whose}: ${verdict.reason}`);
  const width = Math.max(0, ...stops.map(({ policy }) => policy.length));
  for (const stop of stops) writeLine(stopLine(stop, width));
}

function stopLine({ tier, policy, part, says, text }: Stop, width: number): string {
  const what = text?.replace(`${policy} `, '') ?? SILENT[says];
  const line = `  ${part.padEnd(8)}  ${tier.padEnd(13)}  ${policy.padEnd(width)}  ${what}`;
  return part === 'decided' ? line : part === 'shadowed' ? pc.yellow(line) : pc.dim(line);
}

const SILENT: Record<Stop['says'], string> = {
  allow: '',
  deny: '',
  pass: '',
  isolates: 'isolates; no rule matches',
  nothing: 'no rule matches',
};

function verdictWord(verdict: 'allow' | 'deny'): string {
  return verdict === 'allow' ? pc.green('allow') : pc.red('deny ');
}
