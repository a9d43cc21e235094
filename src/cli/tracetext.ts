/** A trace for people, as lines: first the outcome for the connection, then the reasons. */

import type { EnforcementPoint, Outcome } from '../answers/readback/enforcementpoints.ts';
import type { Hook, KernelWalk, Step, WalkEnd } from '../answers/readback/kernelwalk.ts';
import { addressOwners } from '../model/addressowners.ts';
import type { Cluster } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import type { Direction } from '../model/policy.ts';
import type { Connection } from '../nft/conntrack.ts';
import type { DirectionVerdict, FlowVerdict } from '../semantics/evaluate.ts';
import pc from '../terminal/colours.ts';
import { HANG } from '../terminal/hang.ts';

/** The verdict of policy about the flow, the part that this kernel has to enforce, and the part of other nodes. */
export interface ExpectedPath {
  readonly node: string;
  readonly verdict: FlowVerdict;
  readonly demanded: 'accept' | 'drop';
  readonly outcome: Outcome;
  readonly elsewhere: readonly EnforcementPoint[];
  /** Why it is not known here whether another node denies it. */
  readonly unheard?: string;
  /** A remark on a fact that the addresses alone do not show. */
  readonly note: string | undefined;
}

/** The node on which the flow is traced; its name is known from its agent, or from an option with a folder. */
export interface Here {
  readonly installed: boolean;
  readonly cluster?: Cluster;
  readonly node?: string;
}

export function traceLines(
  flow: Flow,
  walk: KernelWalk,
  connections: readonly Connection[],
  expected: ExpectedPath | undefined,
  here: Here,
): string[] {
  const { hook, steps } = walk;
  const width = Math.max(0, ...steps.map(({ chain }) => chain.length));
  return [
    ...headLines(flow, walk, expected, here),
    ...section('pods', podLines(walk, here)),
    ...section(
      `a new connection at ${hook}`,
      steps.length === 0 ? [pc.dim('  no rule matches')] : steps.map(step => stepLine(step, width)),
    ),
    ...section('conntrack', connectionLines(connections, hook)),
    ...(expected === undefined ? [] : section('policy', expectedLines(expected, walk))),
    ...(expected?.note === undefined ? [] : ['', pc.dim(expected.note)]),
  ];
}

function section(title: string, lines: readonly string[]): string[] {
  return ['', pc.bold(title), ...lines];
}

function headLines(
  flow: Flow,
  { from, to, verdict }: KernelWalk,
  expected: ExpectedPath | undefined,
  { installed }: Here,
): string[] {
  const port = flow.port === undefined ? '' : `:${flow.port}`;
  const outcome = expected?.outcome ?? verdict;
  const isElsewhere = expected !== undefined && outcome !== verdict;
  return [
    `${WORDS[outcome]}  ${pc.bold(`${nameOf(from)} -> ${nameOf(to)}${port}/${flow.protocol}`)}`,
    ...(isElsewhere ? [`        ${otherNodesText(expected)}`] : []),
    ...(installed ? [] : ['        no Sluice rules here']),
  ];
}

function podLines({ from, to }: KernelWalk, here: Here): string[] {
  const width = Math.max(nameOf(from).length, nameOf(to).length);
  return [
    `  ${nameOf(from).padEnd(width)}  ${pc.dim('egress ')}  ${from.egress ?? openOrElsewhere(from, here)}`,
    `  ${nameOf(to).padEnd(width)}  ${pc.dim('ingress')}  ${to.ingress ?? openOrElsewhere(to, here)}`,
  ];
}

/** An address without a chain is either not isolated, or judged by another node. */
function openOrElsewhere({ address }: WalkEnd, { cluster, node }: Here): string {
  const pod = cluster && addressOwners(cluster).get(address);
  if (pod === undefined || node === undefined || pod.node === node) return 'open';
  return pc.dim(`on ${pod.node}: its own node enforces this`);
}

function nameOf({ pod, address }: WalkEnd): string {
  return pod === undefined ? address : `${pod} (${address})`;
}

function stepLine({ chain, rule, comment, verdict }: Step, width: number): string {
  const leads = verdict === undefined || rule.endsWith(verdict) ? '' : ` ${pc.dim('->')} ${verdict}`;
  const why = comment === undefined ? '' : `  ${pc.dim(`# ${comment}`)}`;
  return `  ${chain.padEnd(width)}  ${HANG}${rule}${leads}${why}`;
}

function connectionLines(connections: readonly Connection[], hook: Hook): string[] {
  const replied = connections.filter(({ unreplied }) => !unreplied);
  const unreplied = connections.filter(({ unreplied }) => unreplied);
  const open = hook === 'output' ? '' : ': their packets are accepted before any policy is asked';
  const lines = [
    ...(replied.length === 0 ? [] : [`  knows ${listText(replied)}${open}`]),
    ...(unreplied.length === 0
      ? []
      : [`  knows ${listText(unreplied)}, not answered yet: judged like new ones until they are`]),
  ];
  return lines.length === 0 ? ['  knows no such connection'] : lines;
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

/** The text about other nodes, if this kernel's verdict is not the final one. */
function otherNodesText({ node, verdict, outcome, elsewhere, unheard }: ExpectedPath): string {
  if (unheard !== undefined) return `${node} lets it pass; ${unheard}`;
  const others = [...new Set(elsewhere.map(point => point.node))].join(' and ');
  if (outcome === 'denied-elsewhere')
    return `${node} lets it pass; ${others} enforces policy at the other end and denies it`;
  const verbs = others.includes(' and ') ? 'enforce' : 'enforces';
  return `neither end is a pod of ${node}: ${others} ${verbs} policy, which ${verb(verdict)} it`;
}

function expectedLines(expected: ExpectedPath, { verdict: actual, steps }: KernelWalk): string[] {
  const { node, verdict, demanded, outcome } = expected;
  const reasons = (['egress', 'ingress'] as const).map(direction => {
    if (direction === 'egress' && expected.unheard !== undefined)
      return `  undecided  ${HANG}egress: ${expected.unheard}; else: ${verdict.egress.reason}`;
    const others = alsoAllows(verdict[direction], direction, steps);
    return `  ${verdict[direction].verdict.padEnd(5)}  ${HANG}${direction}: ${verdict[direction].reason}${others}`;
  });
  if (demanded !== actual) return [`  ${pc.red('disagrees')}: this node should ${demanded} it`, ...reasons];
  if (expected.unheard !== undefined) return [`  not for ${node} to enforce`, ...reasons];
  const word = outcome === 'not-judged-here' ? `not for ${node} to enforce` : pc.green('agrees');
  return [`  ${word}: it ${verb(verdict)} the connection${exceptionText(expected)}`, ...reasons];
}

/** If several NetworkPolicies allow, policy names the first by name, and the kernel the one whose rule comes first. */
export function alsoAllows(
  { verdict, tier, policy, rule }: DirectionVerdict,
  direction: Direction,
  steps: readonly Step[],
): string {
  if (verdict !== 'allow' || tier !== 'networkpolicy' || policy === undefined) return '';
  const own = `${policy.replace('NetworkPolicy ', '')} ${rule}`;
  const comments = steps.flatMap(({ comment = '' }) => (comment.includes(` ${direction}[`) ? [comment] : []));
  if (comments.length === 0 || comments.some(comment => comment.split(', ').includes(own))) return '';
  return `; so does ${comments.at(-1)}, whose rule the kernel asks first: any of them is enough`;
}

/** Why this kernel rightly accepts a connection that policy denies. */
function exceptionText({ verdict, demanded, elsewhere }: ExpectedPath): string {
  if (demanded === 'drop' || verdict.verdict === 'allow') return '';
  const nodes = new Set(elsewhere.filter(point => point.verdict === 'deny').map(point => point.node));
  return nodes.size > 0 ? `, on ${[...nodes].join(' and ')}` : ', but a node reaches its own pods';
}

function verb({ verdict }: FlowVerdict): string {
  return verdict === 'deny' ? 'denies' : 'allows';
}
