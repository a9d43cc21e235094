/** What nearly matched, and what would turn the verdict. */
import type { Answer } from '../answers/questions/answer.ts';
import { type Fix, proposeFix } from '../answers/questions/fix/fix.ts';
import type { Flip } from '../answers/questions/fix/flips.ts';
import type { PolicyObject } from '../answers/questions/fix/proposal.ts';
import { type NearMiss, nearMisses } from '../answers/questions/nearmiss.ts';
import { decodeObject } from '../inputs/kube/decode/decode.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { Direction, Policy } from '../model/policy.ts';
import pc from '../terminal/colours.ts';
import { HANG } from '../terminal/hang.ts';
import { plural } from '../terminal/plural.ts';
import { yamlText } from '../terminal/yamltext.ts';

/** Of a direction that is denied. */
export function nearMissesOf({ decisive, cluster }: Answer, direction: Direction, unknownPods: UnknownPods) {
  if (decisive === undefined || decisive.verdict[direction].verdict === 'allow') return [];
  const misses = nearMisses(cluster, decisive.flow, direction, unknownPods);
  // Of an address that only stands for many, no answer of DNS is near.
  return decisive.toRange === undefined ? misses : misses.filter(({ needs }) => !needs.some(isOfDns));
}

const isOfDns = (need: string) => need.startsWith('DNS had told ');

export function nearMissLine({ policy, rule, needs }: NearMiss): string {
  return `  ${pc.cyan('nearly')}        ${HANG}${policy} ${rule} would match if ${needs.join(', and ')}`;
}

/** The other verdict for everything that the question means. */
export function fixOf({ cases, cluster, verdict }: Answer, unknownPods: UnknownPods): Fix | string {
  if (verdict === 'undecided') return 'there is no verdict to turn';
  if (cases.some(({ viaNode }) => viaNode !== undefined))
    return 'a node port is fixed by the pod behind it: ask for that';
  if (cases.some(({ fromRange, toRange }) => fromRange ?? toRange))
    return fixOfPlaced(cases, cluster, unknownPods);
  return proposeFix({ cluster, unknownPods, flows: cases.map(({ flow }) => flow) }, decode);
}

/** A pod that is not there yet can be told by its labels; of the world every address would need a rule. */
function fixOfPlaced(
  cases: Answer['cases'],
  cluster: Answer['cluster'],
  unknownPods: UnknownPods,
): Fix | string {
  const isPlace = cases.every(
    ({ from, to, fromRange, toRange }) =>
      (fromRange === undefined || from.unplaced?.pod !== undefined) &&
      (toRange === undefined || to.place.unplaced?.pod !== undefined || to.place.domain !== undefined),
  );
  if (!isPlace) return 'an end that is many addresses has no smallest change: name one address';
  const names = new Map(
    cases.flatMap(({ flow, to: { place } }) =>
      place.domain === undefined ? [] : [[flow.to, place.domain] as const],
    ),
  );
  return proposeFix({ cluster, unknownPods, flows: cases.map(({ flow }) => flow), names }, decode);
}

function decode(object: PolicyObject): Policy | undefined {
  const { event, problems } = decodeObject(object);
  return problems.length === 0 && event?.type === 'policy' ? event.value : undefined;
}

const MOST_FLIPS = 10;

export function fixLines(fix: Fix | string): string[] {
  if (typeof fix === 'string') return ['', `${pc.yellow('no fix')}: ${HANG}${fix}`];
  const yaml = fix.objects.map(object => yamlText(object).trimEnd()).join('\n---\n');
  return [
    '',
    `${pc.bold(`to ${fix.verdict} it`)}, ${HANG}apply this (judged again: it does)`,
    '',
    ...yaml.split('\n'),
    '',
    ...flipLines(fix),
  ];
}

function flipLines({ flips, verdict, allPorts }: Fix): string[] {
  const also = verdict === 'allow' ? 'opens' : 'closes';
  const ports = allPorts
    ? [`It is about every port and protocol between these ends, not only what was asked.`]
    : [];
  const later = `Pods that get the same labels later are meant too.`;
  if (flips.length === 0) return [...ports, `It ${also} nothing else of what is there now. ${later}`];
  const rest = flips.length - MOST_FLIPS;
  return [
    ...ports,
    `It also ${also} ${plural(flips.length, 'connection')}: ${later}`,
    ...flips.slice(0, MOST_FLIPS).map(flipText),
    ...(rest > 0 ? [`  … and ${rest} more (-o json has them all)`] : []),
  ];
}

function flipText({ from, to, flow: { protocol, port } }: Flip): string {
  return `  ${from} -> ${to}${port === undefined ? '' : `:${port}`}/${protocol}`;
}

export function fixObject(fix: Fix | string): object {
  if (typeof fix === 'string') return { none: fix };
  const { verdict, objects, flips, allPorts } = fix;
  const also = flips.map(({ from, to, flow: { protocol, port } }) => ({ from, to, protocol, port }));
  return { verdict, objects, also, allPorts };
}
