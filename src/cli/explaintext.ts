/** The answers of `sluice explain` for people, as lines. */

import {
  type Answer,
  type CaseGroup,
  type Difference,
  groupsOf,
  type Verdict,
} from '../answers/questions/answer.ts';
import type { QuestionResult } from '../answers/questions/ask.ts';
import { nearMissesOf } from '../answers/questions/explanation.ts';
import type { PolicyEdit } from '../answers/questions/fix/edits.ts';
import type { Fix } from '../answers/questions/fix/fix.ts';
import { distinctFlips, type Flip } from '../answers/questions/fix/flips.ts';
import type { PolicyObject } from '../answers/questions/fix/proposal.ts';
import { type JudgedFlow, walkSeen, withNames } from '../answers/questions/judge.ts';
import type { NearMiss } from '../answers/questions/nearmiss.ts';
import type { StatusesByPolicy } from '../answers/questions/statuses.ts';
import { plural } from '../lib/text/plural.ts';
import { thousands } from '../lib/text/thousands.ts';
import { FAMILY_NAME, type Family } from '../model/address.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { StatusText } from '../model/policystatus.ts';
import type { Problem } from '../model/problem.ts';
import type { DirectionWalk, Stop, Walk } from '../semantics/explain.ts';
import { flowText } from '../semantics/flowtext.ts';
import pc from '../terminal/colours.ts';
import { HANG } from '../terminal/hang.ts';
import { comments } from '../terminal/wrap.ts';
import { yamlText } from '../terminal/yamltext.ts';

/** One line of many: the verdict and the reason that matters most. */
export function answerLine(asked: QuestionResult): string {
  if ('error' in asked) return `${pc.yellow('error')}  ${HANG}${asked.words}  ${asked.error}`;
  const { question, verdict, reason } = asked.answer;
  const rest = [differenceText(asked.answer), reason].filter(Boolean).join('; ');
  return `${verdictWord(verdict)}  ${HANG}${question.from} -> ${question.to}  ${pc.dim(rest)}`;
}

/** The verdict of each connection if they differ, and the explanation of the decisive one. */
export function answerLines(answer: Answer, unknownPods: UnknownPods, isWide = false): string[] {
  const { decisive, cluster } = answer;
  const way = decisive && walkSeen(cluster, decisive, unknownPods);
  return [
    `${verdictWord(answer.verdict)}  ${HANG}${pc.bold(headText(answer))}`,
    ...undecidedLines(answer),
    ...answer.notes.map(note => `       ${HANG}${pc.dim(note)}`),
    ...differenceLines(answer, isWide ? Number.POSITIVE_INFINITY : MOST_GROUPS),
    ...(way === undefined
      ? []
      : walkLines(answer, way, unknownPods, isWide).map(line => withNames(line, decisive!))),
    ...sameLines(answer),
  ];
}

function headText({ question, decisive, cases }: Answer): string {
  const isOne = new Set(cases.map(({ from, to }) => `${from.name} ${to.endpoint.name}`)).size === 1;
  const isLed = decisive?.to.service ?? decisive?.to.translation;
  if (decisive === undefined || !isOne || decisive.fromRange || decisive.toRange || isLed)
    return `${question.from} -> ${question.to}`;
  return namedFlow(decisive);
}

function namedFlow({ from, to, flow }: JudgedFlow): string {
  const name = (known: string, address: string) => (known === address ? address : `${known} (${address})`);
  const [, target = ''] = flowText(flow).split(' -> ');
  const tail = target.slice(target.indexOf(flow.to) + flow.to.length).replace(/^\]/, '');
  return `${name(from.name, flow.from)} -> ${name(to.endpoint.name, flow.to)}${tail.replace(' via service', '')}`;
}

function undecidedLines({ verdict, reason }: Answer): string[] {
  return verdict === 'undecided' ? [`           ${HANG}${reason}`] : [];
}

const DIFFERS: Record<Difference, string> = {
  family: 'by family',
  source: 'by where it comes from',
  destination: 'by where it arrives',
  address: 'by address',
};

function differenceText({ differsBy }: Answer): string {
  return differsBy.length === 0 ? '' : `differs ${differsBy.map(each => DIFFERS[each]).join(' and ')}`;
}

const MOST_GROUPS = 20;

/** A line for each connection, if verdicts differ or if a Service leads to several. */
function differenceLines(answer: Answer, most: number): string[] {
  const groups = groupsOf(answer.cases);
  const isService = answer.cases.some(({ to }) => to.service !== undefined);
  if (answer.differsBy.length === 0 && !isService) return [];
  const more = groups.length - most;
  const width = Math.max(0, ...groups.map(group => endsText(group).length));
  return [
    '',
    ...(answer.differsBy.length > 0
      ? [`${pc.yellow(differenceText(answer))}: the stricter verdict counts`]
      : []),
    ...groups.slice(0, most).map(group => groupLine(group, width, answer.differsBy.some(isOfAddress))),
    ...(more > 0 ? [pc.dim(`  … and ${more} more (-o wide has them all)`)] : []),
  ];
}

/** If only addresses or families distinguish the verdicts, each line lists its addresses. */
const isOfAddress = (difference: Difference) => difference === 'address' || difference === 'family';

function groupLine(group: CaseGroup, width: number, withAddresses: boolean): string {
  const { verdict, families, addresses } = group;
  const where = addresses === undefined || !withAddresses ? '' : `  ${addresses}`;
  return `  ${verdictWord(verdict)}  ${endsText(group).padEnd(width)}  ${HANG}${familiesText(families)}${where}`;
}

function endsText({ from, to, port, dialled, viaNode, onNode }: CaseGroup): string {
  const source = onNode === undefined ? from : `${from} on ${onNode}`;
  const by = dialled === undefined ? '' : ` by ${dialledText(dialled)}`;
  const through = viaNode === undefined ? '' : ` through ${viaNode}`;
  return `${source} -> ${to}${port === undefined ? '' : `:${port}`}${by}${through}`;
}

function dialledText({ address, port }: NonNullable<CaseGroup['dialled']>): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

function familiesText(families: readonly Family[]): string {
  return families.map(family => FAMILY_NAME[family]).join(' and ');
}

/** If nothing differs: for how many ends and families the answer holds. */
function sameLines({ cases, verdict, differsBy, families }: Answer): string[] {
  if (cases.length < 2 || differsBy.length > 0) return [];
  const places = (of: (each: JudgedFlow) => string) => new Set(cases.map(of)).size;
  const [sources, targets] = [places(({ from }) => from.name), places(({ to }) => to.endpoint.name)];
  const over = `over ${familiesText(Object.keys(families) as Family[])}`;
  const ends = sources * targets > 1 ? `, from ${plural(sources, 'end')} to ${plural(targets, 'end')}` : '';
  const all = cases.some(({ fromRange, toRange }) => fromRange ?? toRange) ? ', whatever the address' : '';
  return ['', pc.dim(`the same ${over}${ends}${all}: ${verdict}`)];
}

function walkLines(
  answer: Answer,
  { egress, ingress }: Walk,
  unknownPods: UnknownPods,
  isWide: boolean,
): string[] {
  return [egress, ingress].flatMap(way => [
    '',
    ...directionLines(way, answer.statuses, isWide),
    ...nearMissesOf(answer, way.direction, unknownPods).map(nearMissLine),
  ]);
}

/** The reason once: where a policy of the list below decided alone, that line has it. */
function directionLines(
  { direction, pod, verdict, stops }: DirectionWalk,
  statuses: StatusesByPolicy,
  isWide: boolean,
): string[] {
  const whose = pod === undefined ? '' : ` of ${pod}`;
  const alike = isWide ? new Map<Stop, number>() : alikeAfter(stops, statuses);
  const shown = stops.filter(stop => alike.get(stop) !== 0);
  const width = Math.min(60, Math.max(0, ...shown.map(stop => whoText(stop).length)));
  return [
    `${verdictWord(verdict.verdict)}  ${HANG}${direction}${whose}: ${verdict.reason}`,
    ...shown.flatMap(stop => [
      stopLine(stop, width),
      ...(statuses.get(stop.policy) ?? []).map(statusLine),
      ...moreLines(stop, alike.get(stop)),
    ]),
  ];
}

/** Policies that had no part in the verdict, of each kind: a namespace may have thousands. */
const MOST_ALIKE = 5;

/**
 * The first policies without a part in the verdict are shown. The last of those has the number of the others, which have 0
 * themselves. A policy that is not in force as written is always shown.
 */
function alikeAfter(stops: readonly Stop[], statuses: StatusesByPolicy): ReadonlyMap<Stop, number> {
  const counts = new Map<Stop, number>();
  for (const part of ['no-match', 'same-verdict'] as const) {
    const its = stops.filter(stop => stop.part === part && !statuses.has(stop.policy));
    const others = its.slice(MOST_ALIKE);
    // A line in place of one policy says less than that policy's.
    if (others.length < 2) continue;
    for (const other of others) counts.set(other, 0);
    counts.set(its[MOST_ALIKE - 1]!, others.length);
  }
  return counts;
}

function moreLines({ part }: Stop, count = 0): string[] {
  if (count === 0) return [];
  return [
    pc.dim(`  ${PARTS[part].padEnd(12)}  ${HANG}${thousands(count)} other policies (-o wide lists them)`),
  ];
}

/** Below the line of the policy, as `sluice status` has it. */
function statusLine({ status, reason }: StatusText): string {
  return `    ${pc.yellow(status.padEnd(11))}  ${HANG}${reason}`;
}

function stopLine(stop: Stop, width: number): string {
  const { part } = stop;
  const line = `  ${PARTS[part].padEnd(12)}  ${whoText(stop).padEnd(width)}  ${HANG}${stopText(stop)}`;
  return part === 'decided' ? line : part === 'overridden' ? pc.yellow(line) : pc.dim(line);
}

/** The policy, with the tier if it is a ClusterNetworkPolicy; the kind of other policies implies the tier. */
function whoText({ tier, policy }: Stop): string {
  return policy.startsWith('ClusterNetworkPolicy ') ? `${policy} (${tier})` : policy;
}

const PARTS: Record<Stop['part'], string> = {
  decided: 'decided',
  passed: 'passed',
  'same-verdict': 'same verdict',
  overridden: 'overridden',
  'no-match': 'no match',
};

/** A stop does not repeat the policy and rule that decided: the line above has them. */
function stopText({ policy, part, says, rule, text, by }: Stop): string {
  if (part === 'decided') return rule ?? 'selects the pod';
  const what = text?.replace(`${policy} `, '') ?? WITHOUT_MATCH[says];
  if (part === 'passed') return `${what} to the next tier`;
  return by === undefined ? what : `${what}; overridden by ${by}`;
}

const WITHOUT_MATCH: Record<Stop['says'], string> = {
  allow: '',
  deny: '',
  pass: '',
  isolates: 'selects the pod, and no rule allows this',
  nothing: 'no rule matches',
};

const WORDS: Record<Verdict, string> = {
  allow: pc.green('allow'),
  deny: pc.red('deny '),
  undecided: pc.yellow('undecided'),
};

function verdictWord(verdict: Verdict): string {
  return WORDS[verdict];
}

function nearMissLine({ policy, rule, needs }: NearMiss): string {
  return `  ${pc.cyan('nearly')}        ${HANG}${policy} ${rule} would match if ${needs.join(', and ')}`;
}

const MOST_FLIPS = 10;

type PlaceOf = (object: string, field?: string) => Pick<Problem, 'file' | 'line'>;

export function fixLines(fix: Fix | string, placeOf?: PlaceOf): string[] {
  if (typeof fix === 'string') return ['', `${pc.yellow('no fix')}: ${HANG}${fix}`];
  const { verdict, edits = [] } = fix;
  const news = fix.objects.filter(object => !edits.some(({ policy }) => isPolicy(object, policy)));
  const yaml = news.map(object => yamlText(object, fix.remarks).trimEnd()).join('\n---\n');
  const apply = `apply this${edits.length > 0 ? ' too' : ' (judged again: it does)'}`;
  const head = pc.bold(`to ${verdict} it`);
  return [
    '',
    ...(edits.length > 0
      ? [`${head}, ${HANG}edit what seems to be mistyped (judged again: it does)`, '']
      : []),
    ...edits.flatMap(edit => editLines(edit, placeOf)),
    ...(news.length > 0
      ? [`${edits.length > 0 ? 'and' : `${head},`} ${HANG}${apply}`, '', ...yaml.split('\n'), '']
      : []),
    ...flipLines(fix),
    ...(edits.length > 0 ? [pc.dim('-o yaml writes the whole policy, for kubectl apply -f -')] : []),
  ];
}

function isPolicy({ kind, metadata }: PolicyObject, policy: string): boolean {
  const { name, namespace } = metadata as { readonly name: string; readonly namespace?: string };
  return policy === `${kind} ${namespace}/${name}`;
}

function editLines({ policy, field, was, is }: PolicyEdit, placeOf?: PlaceOf): string[] {
  const { file, line } = placeOf?.(policy, field) ?? {};
  const place = file === undefined ? [] : [`  ${HANG}${file}${line === undefined ? '' : `:${line}`}`];
  return [
    ...place,
    `  ${HANG}${policy} ${field}`,
    pc.red(`  - ${HANG}${was}`),
    pc.green(`  + ${HANG}${is}`),
    '',
  ];
}

/** The objects alone, for `kubectl apply -f -`; all else is a comment. */
export function fixDocument(fix: Fix | string, columns?: number): string[] {
  if (typeof fix === 'string') return comments([`no fix: ${fix}`], columns);
  const edits = (fix.edits ?? []).map(({ policy, field, was, is }) => `${policy} ${field}: ${was} -> ${is}`);
  const says = [`to ${fix.verdict} it (judged again: it does)`, ...edits, ...flipLines(fix)];
  return [
    ...comments(says, columns),
    ...fix.objects.flatMap(object => ['---', ...yamlText(object, fix.remarks).trimEnd().split('\n')]),
  ];
}

function flipLines({ flips, verdict, allPorts, edits }: Fix): string[] {
  const ports = allPorts ? [edits === undefined ? EVERY_PORT : MORE_PORTS] : [];
  const later = `Pods that get the same labels later are meant too.`;
  if (flips.length === 0)
    return [
      ...ports,
      `It ${VERBS[verdict]} nothing else ${allPorts ? 'on the ports that are declared' : 'of what is there now'}. ${later}`,
    ];
  const lists = (['allow', 'deny'] as const)
    .map(each => distinctFlips(flips).filter(flip => flip.verdict === each))
    .filter(some => some.length > 0);
  return [...ports, ...lists.flatMap((some, i) => flipList(some, i === 0 ? ` ${later}` : ''))];
}

const EVERY_PORT = 'It is about every port and protocol between these ends, not only what was asked.';
const MORE_PORTS = 'It is about all ports of what it changes, not only those that are asked or listed.';
const VERBS = { allow: 'opens', deny: 'closes' } as const;

function flipList(flips: readonly Flip[], later: string): string[] {
  const rest = flips.length - MOST_FLIPS;
  return [
    `It also ${VERBS[flips[0]!.verdict]} ${plural(flips.length, 'connection')}:${later}`,
    ...flips.slice(0, MOST_FLIPS).map(flipText),
    ...(rest > 0 ? [`  … and ${rest} more (-o json has them all)`] : []),
  ];
}

function flipText({ from, to, flow: { protocol, port } }: Flip): string {
  return `  ${from} -> ${to}${port === undefined ? '' : `:${port}`}/${protocol}`;
}
