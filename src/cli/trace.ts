import { addressOwners, type Cluster } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import { openConntrack } from '../netlink/conntrack.ts';
import type { Connection } from '../nft/conntrack.ts';
import { evaluate, type FlowVerdict } from '../policy/evaluate.ts';
import { FlowTextError, parseFlowPieces } from '../policy/flowtext.ts';
import { demanded, type Judge, judgesOf, type Outcome, outcomeOf } from '../policy/judges.ts';
import {
  type Hook,
  type KernelWalk,
  namedPods,
  type Step,
  type WalkEnd,
  walkKernel,
} from '../policy/kernelwalk.ts';
import { natNote } from '../policy/natnote.ts';
import { standing } from '../policy/unknown.ts';
import pc from './colours.ts';
import { CommandError } from './errors.ts';
import { type OutputOptions, writeLine } from './output.ts';
import { ownAddresses } from './ownaddresses.ts';
import { findStandard, type NodeOptions, type Standard } from './readcluster.ts';
import { readKernel } from './readkernel.ts';

export type TraceOptions = OutputOptions & NodeOptions;

/** What policy says about the flow, what it demands of this kernel, and what that of others. */
interface Expected {
  readonly node: string;
  readonly verdict: FlowVerdict;
  readonly demanded: 'accept' | 'drop';
  readonly outcome: Outcome;
  readonly elsewhere: readonly Judge[];
  /** What the addresses alone cannot tell. */
  readonly note: string | undefined;
}

/** Where the flow is traced: which node this is is known where its agent or a folder says so. */
interface Here {
  readonly installed: boolean;
  readonly cluster?: Cluster;
  readonly node?: string;
}

/** `sluice trace FROM TO[:PORT[/PROTOCOL]]`: what the kernel does now, by walking what was read back from it. */
export async function traceCommand(from: string, to: string, options: TraceOptions): Promise<void> {
  const found = await findStandard('trace', options);
  const standard = 'missing' in found ? undefined : found;
  const ruleset = await readKernel();
  const flow =
    'missing' in found
      ? flowOf(namedPods(ruleset), from, to, `${ONLY_RULES}; ${found.missing}`)
      : flowOf(found.cluster, from, to, '');
  const walk = named(walkKernel(ruleset, flow, ownAddresses()), standard?.cluster);
  const connections = await trackedLike(flow);
  const expected = standard && expectedOf({ unknownPods: standing(ruleset), ...standard }, to, flow, walk);
  if (options.output === 'json') writeJson(flow, walk, connections, expected);
  else {
    writeText(flow, walk, connections, expected, { installed: ruleset.tables.size > 0, ...standard });
    if ('missing' in found) writeLine(pc.dim(`\npolicy was not asked: ${found.missing}`));
  }
  if (expected !== undefined && expected.demanded !== walk.verdict) process.exitCode = 1;
}

const ONLY_RULES =
  '; the rules name only pods of this node that policies affect: give an address, or --manifests DIR --node NAME';

function flowOf(cluster: Cluster, from: string, to: string, hint: string): Flow {
  try {
    return parseFlowPieces(cluster, from, to);
  } catch (error) {
    if (!(error instanceof FlowTextError)) throw error;
    throw new CommandError(error.message + hint);
  }
}

/** The cluster knows more pods than the rules do. */
function named(walk: KernelWalk, cluster: Cluster | undefined): KernelWalk {
  if (cluster === undefined) return walk;
  const owners = addressOwners(cluster);
  const nameOf = (end: WalkEnd): WalkEnd => {
    const pod = owners.get(end.address)?.key ?? end.pod;
    return { ...end, ...(pod !== undefined && { pod }) };
  };
  return { ...walk, from: nameOf(walk.from), to: nameOf(walk.to) };
}

/** The connections that conntrack knows between the two, to the same port. */
async function trackedLike(flow: Flow): Promise<Connection[]> {
  const conntrack = openConntrack();
  const found: Connection[] = [];
  const isLike = ({ from, to, protocol, port }: Flow) =>
    from === flow.from && to === flow.to && protocol === flow.protocol && port === flow.port;
  try {
    await conntrack.read([flow.from], isLike, connection => found.push(connection));
    return found;
  } finally {
    conntrack.close();
  }
}

function expectedOf(
  { cluster, node, unknownPods = 'allow' }: Standard,
  asked: string,
  flow: Flow,
  { hook, verdict: actual }: KernelWalk,
): Expected {
  const verdict = evaluate(cluster, flow, unknownPods);
  const judges = judgesOf(cluster, flow, verdict, unknownPods);
  return {
    node,
    verdict,
    demanded: demanded(judges, node, hook),
    outcome: outcomeOf(judges, node, hook, actual),
    elsewhere: judges.filter(judge => judge.node !== node),
    note: natNote(cluster, asked, flow),
  };
}

function writeJson(
  flow: Flow,
  walk: KernelWalk,
  connections: readonly Connection[],
  expected: Expected | undefined,
): void {
  const tracked = connections.map(({ sourcePort, dialled, unreplied }) => ({
    sourcePort,
    dialled,
    unreplied,
  }));
  const explain = expected && { ...expected.verdict, demanded: expected.demanded };
  const agrees = expected === undefined ? null : expected.demanded === walk.verdict;
  const { node = null, outcome = null, elsewhere = null, note } = expected ?? {};
  const policy = { node, outcome, elsewhere, explain: explain ?? null, agrees, note };
  writeLine(JSON.stringify({ flow, ...walk, tracked, ...policy }));
}

function writeText(
  flow: Flow,
  walk: KernelWalk,
  connections: readonly Connection[],
  expected: Expected | undefined,
  here: Here,
): void {
  const { from, to, verdict, hook, steps } = walk;
  const port = flow.port === undefined ? '' : `:${flow.port}`;
  const outcome = expected?.outcome ?? verdict;
  writeLine(`${WORDS[outcome]}  ${pc.bold(`${nameOf(from)} -> ${nameOf(to)}${port}/${flow.protocol}`)}`);
  if (expected !== undefined && outcome !== verdict) writeLine(`        ${otherNodesText(expected)}`);
  if (!here.installed) writeLine('        no table of Sluice stands in this network namespace');
  writeLine(`\n${pc.bold('pods')}`);
  const nameWidth = Math.max(nameOf(from).length, nameOf(to).length);
  writeLine(
    `  ${nameOf(from).padEnd(nameWidth)}  ${pc.dim('egress ')}  ${from.egress ?? openOrElsewhere(from, here)}`,
  );
  writeLine(
    `  ${nameOf(to).padEnd(nameWidth)}  ${pc.dim('ingress')}  ${to.ingress ?? openOrElsewhere(to, here)}`,
  );
  writeLine(`\n${pc.bold(`a new connection at ${hook}`)}`);
  if (steps.length === 0) writeLine(pc.dim('  no rule has anything to say'));
  const width = Math.max(0, ...steps.map(({ chain }) => chain.length));
  for (const step of steps) writeStep(step, width);
  writeLine(`\n${pc.bold('conntrack')}\n  ${connectionsText(connections, hook)}`);
  if (expected !== undefined) writeLine(`\n${pc.bold('policy')}\n${expectedText(expected, verdict)}`);
  if (expected?.note !== undefined) writeLine(pc.dim(`\n${expected.note}`));
}

/** What has no chain is open, or another node's to judge. */
function openOrElsewhere({ address }: WalkEnd, { cluster, node }: Here): string {
  const pod = cluster && addressOwners(cluster).get(address);
  if (pod === undefined || node === undefined || pod.node === node) return 'open';
  return pc.dim(`on ${pod.node}: its own node judges this`);
}

function nameOf({ pod, address }: WalkEnd): string {
  return pod === undefined ? address : `${pod} (${address})`;
}

function writeStep({ chain, rule, comment, verdict }: Step, width: number): void {
  const leads = verdict === undefined || rule.endsWith(verdict) ? '' : ` ${pc.dim('->')} ${verdict}`;
  const why = comment === undefined ? '' : `  ${pc.dim(`# ${comment}`)}`;
  writeLine(`  ${chain.padEnd(width)}  ${rule}${leads}${why}`);
}

function connectionsText(connections: readonly Connection[], hook: Hook): string {
  const replied = connections.filter(({ unreplied }) => !unreplied);
  const unreplied = connections.filter(({ unreplied }) => unreplied);
  const open = hook === 'output' ? '' : ': their packets are accepted before any policy is asked';
  const told = [
    ...(replied.length === 0 ? [] : [`knows ${listText(replied)}${open}`]),
    ...(unreplied.length === 0
      ? []
      : [`knows ${listText(unreplied)}, not answered yet: judged like new ones until they are`]),
  ];
  return told.length === 0 ? 'knows no such connection' : told.join('\n  ');
}

/** `2, from port 40000, 40001, through 10.96.0.1`. */
function listText(connections: readonly Connection[]): string {
  const ports = connections.flatMap(({ sourcePort }) => sourcePort ?? []).slice(0, 5);
  const from = ports.length === 0 ? '' : `, from port ${ports.join(', ')}`;
  const more = connections.length > 5 ? ', …' : '';
  const services = [...new Set(connections.flatMap(({ dialled }) => dialled ?? []))];
  const via = services.length === 0 ? '' : `, through ${services.join(', ')}`;
  return `${connections.length}${from}${more}${via}`;
}

const WORDS: Record<Outcome, string> = {
  accept: pc.green('accept'),
  drop: pc.red('drop  '),
  'denied-elsewhere': pc.red('denied elsewhere'),
  'not-judged-here': pc.yellow('not judged here'),
};

/** Where the verdict of this kernel is not the last word. */
function otherNodesText({ node, verdict, outcome, elsewhere }: Expected): string {
  const others = [...new Set(elsewhere.map(judge => judge.node))].join(' and ');
  if (outcome === 'denied-elsewhere')
    return `${node} lets it pass; ${others} judges the other end and denies it`;
  const verbs = others.includes(' and ') ? 'judge' : 'judges';
  return `neither end is a pod of ${node}: ${others} ${verbs} it, and policy ${says(verdict)} it`;
}

function expectedText(
  { node, verdict, demanded, outcome, elsewhere }: Expected,
  actual: 'accept' | 'drop',
): string {
  const others = elsewhere.filter(judge => judge.verdict === 'deny').map(judge => judge.node);
  const where =
    demanded === 'drop' || others.length === 0 ? '' : `, on ${[...new Set(others)].join(' and ')}`;
  const allInAll = `it ${says(verdict)} the connection${where}`;
  const reasons = (['egress', 'ingress'] as const).map(
    direction => `  ${verdict[direction].verdict.padEnd(5)}  ${direction}: ${verdict[direction].reason}`,
  );
  if (demanded !== actual)
    return [`  ${pc.red('disagrees')}: this node should ${demanded} it`, ...reasons].join('\n');
  const word = outcome === 'not-judged-here' ? `not for ${node} to enforce` : pc.green('agrees');
  return [`  ${word}: ${allInAll}`, ...reasons].join('\n');
}

function says({ verdict }: FlowVerdict): string {
  return verdict === 'deny' ? 'denies' : 'allows';
}
