/** A trace for people: what becomes of the connection first, then why. */
import { addressOwners, type Cluster } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import type { Connection } from '../nft/conntrack.ts';
import type { EnforcementPoint, Outcome } from '../readback/enforcementpoints.ts';
import type { Hook, KernelWalk, Step, WalkEnd } from '../readback/kernelwalk.ts';
import type { FlowVerdict } from '../semantics/evaluate.ts';
import pc from '../terminal/colours.ts';
import { writeLine } from '../terminal/output.ts';

/** What policy says about the flow, what it demands of this kernel, and what that of others. */
export interface ExpectedPath {
  readonly node: string;
  readonly verdict: FlowVerdict;
  readonly demanded: 'accept' | 'drop';
  readonly outcome: Outcome;
  readonly elsewhere: readonly EnforcementPoint[];
  /** What the addresses alone cannot tell. */
  readonly note: string | undefined;
}

/** Where the flow is traced: which node this is is known where its agent or a folder says so. */
export interface Here {
  readonly installed: boolean;
  readonly cluster?: Cluster;
  readonly node?: string;
}

/** What `sluice trace` writes for a person. */
export function writeText(
  flow: Flow,
  walk: KernelWalk,
  connections: readonly Connection[],
  expected: ExpectedPath | undefined,
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
function otherNodesText({ node, verdict, outcome, elsewhere }: ExpectedPath): string {
  const others = [...new Set(elsewhere.map(judge => judge.node))].join(' and ');
  if (outcome === 'denied-elsewhere')
    return `${node} lets it pass; ${others} judges the other end and denies it`;
  const verbs = others.includes(' and ') ? 'judge' : 'judges';
  return `neither end is a pod of ${node}: ${others} ${verbs} it, and policy ${says(verdict)} it`;
}

function expectedText(expected: ExpectedPath, actual: 'accept' | 'drop'): string {
  const { node, verdict, demanded, outcome } = expected;
  const reasons = (['egress', 'ingress'] as const).map(
    direction => `  ${verdict[direction].verdict.padEnd(5)}  ${direction}: ${verdict[direction].reason}`,
  );
  if (demanded !== actual)
    return [`  ${pc.red('disagrees')}: this node should ${demanded} it`, ...reasons].join('\n');
  const word = outcome === 'not-judged-here' ? `not for ${node} to enforce` : pc.green('agrees');
  return [`  ${word}: it ${says(verdict)} the connection${exceptionText(expected)}`, ...reasons].join('\n');
}

/** Why this kernel accepts, as it should, what policy denies. */
function exceptionText({ verdict, demanded, elsewhere }: ExpectedPath): string {
  if (demanded === 'drop' || verdict.verdict === 'allow') return '';
  const nodes = new Set(elsewhere.filter(judge => judge.verdict === 'deny').map(judge => judge.node));
  return nodes.size > 0 ? `, on ${[...nodes].join(' and ')}` : ', but a node reaches its own pods';
}

function says({ verdict }: FlowVerdict): string {
  return verdict === 'deny' ? 'denies' : 'allows';
}
