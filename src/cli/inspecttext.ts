/** What `sluice inspect` found, for people as lines and for programs as an object. */

import { spanText } from '../answers/questions/byname.ts';
import type {
  DirectionInspection,
  Inspection,
  NamesInspection,
  PodInspection,
  RuleInspection,
} from '../answers/readback/inspection.ts';
import { ageText, waitingTexts } from '../api/health/agentchecks.ts';
import { getOrMake } from '../lib/collections/getormake.ts';
import { thousands } from '../lib/text/thousands.ts';
import { FAMILY_NAME } from '../model/address.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import { type Op, opText } from '../nft/plan/op.ts';
import { planText } from '../nft/plan/plantext.ts';
import pc from '../terminal/colours.ts';
import { HANG } from '../terminal/hang.ts';
import { plural } from '../terminal/plural.ts';
import type { AgentProgress } from './findexpected.ts';
import { versioned } from './schema.ts';

/** What leads from the actual to the desired state, and whose desired state that is; or why nobody knows. */
export type Comparison =
  | { readonly source: string; readonly difference: readonly Op[]; readonly progress?: AgentProgress }
  | { readonly missing: string };

export function inspectionObject(inspection: Inspection, comparison: Comparison): object {
  const equal = 'missing' in comparison ? null : comparison.difference.length === 0;
  const difference = 'missing' in comparison ? [] : comparison.difference.map(opText);
  const pods = inspection.pods.map(({ ingress, egress, ...pod }) => ({
    ...pod,
    ...(ingress && { ingress: directionObject(ingress) }),
    ...(egress && { egress: directionObject(egress) }),
  }));
  const waitingPods = 'missing' in comparison ? 0 : (comparison.progress?.waitingPods ?? 0);
  return versioned('Inspection', { ...inspection, pods, equal, difference, waitingPods });
}

function directionObject({ chain, rules }: DirectionInspection): object {
  const rulesInWords = rules.map(({ family, ...rule }) => ({
    ...rule,
    ...(family && { family: family === 'ip' ? 'ipv4' : 'ipv6' }),
  }));
  return { chain, rules: rulesInWords };
}

/** Long lists whole where it is wide, else their first items. */
export function inspectionLines(inspection: Inspection, comparison: Comparison, isWide = false): string[] {
  return [
    ...programmedLines(inspection, isWide ? Number.POSITIVE_INFINITY : MOST_ITEMS),
    ...comparisonLines(comparison),
  ];
}

function programmedLines({ installed, pods, totals, unknownPods }: Inspection, most: number): string[] {
  if (!installed) return ['no Sluice rules here'];
  const { chains, sets, elements } = totals;
  const counts = [plural(chains, 'chain'), plural(sets, 'set'), plural(elements, 'element')];
  return [
    ...(pods.length === 0 ? ['tables programmed; no policy selects a pod of this node'] : []),
    ...groupsOf(pods).flatMap(group => groupLines(group, most)),
    unknownPodsText(unknownPods),
    pc.dim(`${counts.join(', ')} in both families`),
  ];
}

function unknownPodsText(unknownPods: UnknownPods): string {
  const what = unknownPods === 'deny' ? pc.red('denied') : pc.green('allowed');
  return `unknown pod addresses: ${what} (in the pod network, and of no known pod)`;
}

/** Pods that share their chains are judged by the same rules: they are said once. */
function groupsOf(pods: readonly PodInspection[]): readonly (readonly PodInspection[])[] {
  const groups = new Map<string, PodInspection[]>();
  for (const pod of pods) getOrMake(groups, JSON.stringify([pod.ingress, pod.egress]), () => []).push(pod);
  return [...groups.values()];
}

function groupLines(pods: readonly PodInspection[], most: number): string[] {
  const { ingress, egress } = pods[0]!;
  return [
    ...pods.flatMap(({ pod, addresses, names = [] }) => [
      `${pc.bold(pod)}  ${HANG}${pc.dim(addresses.join('  '))}`,
      ...names.map(namesText),
    ]),
    ...directionLines('ingress', ingress, most),
    ...directionLines('egress', egress, most),
    '',
  ];
}

const MOST_ADDRESSES = 4;

/** `  names    domain *.cloud.example: 192.0.2.7 (8 min 52 s), 192.0.2.8 (2 min), and 12 more`. */
function namesText({ peers, addresses, total }: NamesInspection): string {
  const shown = addresses
    .slice(0, MOST_ADDRESSES)
    .map(({ address, leftSeconds }) => `${address} (${spanText(leftSeconds * 1_000)})`);
  const more = total - shown.length;
  return `  names    ${HANG}${peers}: ${shown.join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}

function directionLines(name: string, direction: DirectionInspection | undefined, most: number): string[] {
  if (direction === undefined) return [`  ${name.padEnd(8)} ${pc.green('open')}  no policy selects the pod`];
  return direction.rules.map((rule, i) => `  ${(i === 0 ? name : '').padEnd(8)} ${ruleText(rule, most)}`);
}

function ruleText(rule: RuleInspection, most: number): string {
  const { verdict, ports, peers, source, family } = rule;
  const isLast = ports === undefined && peers === undefined;
  const condition = isLast
    ? 'everything else'
    : [ports, peers ?? 'any peer']
        .filter(part => part !== undefined)
        .map(list => shortened(list, most))
        .join('  ');
  const colour = { accept: pc.green, drop: pc.red, pass: pc.yellow }[verdict];
  const over = family === undefined ? '' : ` over ${FAMILY_NAME[family]}`;
  return `${colour(verdict.padEnd(6))}  ${HANG}${condition}${over}  ${pc.dim(source ?? 'no policy decides')}${matchedText(rule)}`;
}

/** Absent where rules do not count. */
function matchedText({ matched, lastMatchedMsAgo: msAgo }: RuleInspection): string {
  if (matched === undefined) return '';
  if (matched === 0) return `  ${pc.yellow('never matched')}`;
  const times = matched === 1 ? 'once' : `${thousands(matched)} times`;
  const last = msAgo === undefined ? '' : `, ${matched === 1 ? '' : 'last '}${ageText(msAgo)} ago`;
  return `  ${pc.dim(`matched ${times}${last}`)}`;
}

/** The first of a long list, for a terminal; JSON has them all. */
function shortened(list: string, most: number): string {
  const items = list.split(', ');
  const more = items.length - most;
  return more > 1 ? `${items.slice(0, most).join(', ')}, and ${more} more` : items.join(', ');
}

const MOST_ITEMS = 12;

function comparisonLines(comparison: Comparison): string[] {
  if ('missing' in comparison) {
    const hint = '--manifests DIR --node NAME compares with a folder';
    return [pc.dim(`not compared: ${comparison.missing}; ${hint}`)];
  }
  const { source, difference, progress } = comparison;
  const desired = `desired by ${source}${waitingClause(progress)}`;
  if (difference.length === 0) return [`${pc.green('equal')}: the actual state is the one ${desired}`];
  const changes = planText(difference).map(line => `  ${line}`);
  return [`${pc.red('different')}: to reach the state ${desired}, the kernel needs`, ...changes];
}

function waitingClause(progress: AgentProgress | undefined): string {
  const waiting = progress === undefined ? [] : waitingTexts(progress);
  return waiting.length === 0 ? '' : `, but for ${waiting.join('; ')}`;
}
