import { desiredAsProgrammed } from '../answers/readback/desired.ts';
import {
  type DirectionInspection,
  type Inspection,
  inspectRuleset,
  type NamedAddress,
  type NamesInspection,
  type PodInspection,
  type RuleInspection,
  withCounts,
} from '../answers/readback/inspect.ts';
import { withLeaseTimes } from '../answers/readback/leasetimes.ts';
import { versioned } from '../answers/schema.ts';
import { ageText, waitingTexts } from '../api/health/agentchecks.ts';
import type { PolicyStatusMessage } from '../api/rpc/messages.ts';
import { withoutGuard } from '../compiler/midstreamguard.ts';
import { ruleCountersIn } from '../compiler/rulecounters.ts';
import { RuleCountReader } from '../kernel/netlink/nftables/rulecounts.ts';
import { sleep } from '../lib/async/sleep.ts';
import { getOrMake } from '../lib/collections/getormake.ts';
import { didYouMean } from '../lib/text/didyoumean.ts';
import { firstOf } from '../lib/text/firstof.ts';
import { plural } from '../lib/text/plural.ts';
import { spanText } from '../lib/text/spantext.ts';
import { thousands } from '../lib/text/thousands.ts';
import { FAMILY_NAME } from '../model/address.ts';
import { auditedNote } from '../model/audited.ts';
import type { PodKey } from '../model/cluster.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import { namespaceOfPolicy, type PolicyId } from '../model/policy.ts';
import { labelOf } from '../model/policyname.ts';
import { type Op, opText } from '../nft/plan/op.ts';
import { plan } from '../nft/plan/plan.ts';
import { planText } from '../nft/plan/plantext.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import pc from '../terminal/colours.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { isData, writeData } from '../terminal/data.ts';
import { HANG } from '../terminal/hang.ts';
import { writeLines, writeNote } from '../terminal/output.ts';
import {
  inspectCluster,
  inspectedNames,
  isAskedElsewhere,
  type ReadbackOptions,
} from './everynode/readback.ts';
import {
  type AgentProgress,
  type Expected,
  expectedView,
  findExpected,
  type NodeOptions,
  readProgress,
} from './findexpected.ts';
import { inspectedBy } from './inspectedpods.ts';
import { orCommandError } from './orcommanderror.ts';
import { type PolicyStatuses, policyLines } from './policylines.ts';
import { hasRules, lookAtKernel } from './readkernel.ts';
import { writeNotes } from './sources/readstate.ts';

/** `what` are ends, namespaces and policies; without them everything is shown. */
export type InspectOptions = ReadbackOptions & NodeOptions & { readonly what: readonly string[] };

interface Look {
  readonly actual: Ruleset;
  readonly comparison: Comparison;
  /** The cluster that it is compared with, and which of its nodes this is. */
  readonly known?: Pick<Expected, 'cluster' | 'inventory' | 'node' | 'statuses' | 'known'>;
  /** The agent has committed something since its cluster was read: the two may be of different moments. */
  readonly isMoving?: boolean;
}

/** A change that the agent has received may still be on its way into the kernel. */
const SETTLE_MS = 1000;
const MOST_LOOKS = 3;

/** `sluice inspect`: shows the programmed rules, by pod and policy, and whether they are what policy demands. */
export async function inspectCommand(options: InspectOptions): Promise<void> {
  if (await isAskedElsewhere(options, hasRules)) return inspectCluster(options.what, options);
  const { actual, comparison, known } = await settledLook(options);
  const read = await counted(actual);
  const whole = known?.known === undefined ? read : withLeaseTimes(read, known.known);
  if ('missing' in comparison && known === undefined && !whole.installed)
    throw new CommandError(nothingToInspect(comparison));
  const what = namesIn(known, options);
  const inspection = onlyAbout(whole, what, known);
  writeNotes(unselectedNotes(inspection, what, known));
  const statuses = statusesAbout(inspection, known?.statuses, what);
  const { output } = options;
  if (isData(output)) await writeData(output, [inspectionObject(inspection, comparison, statuses.policies)]);
  else if (output === 'name') writeLines(inspection.pods.map(({ pod }) => pod));
  else writeLines(inspectionLines(inspection, comparison, output === 'wide', statuses));
  if (isDifferent(comparison)) process.exitCode = 1;
}

/** The pods that are meant, as far as the cluster is known; which they are is noted. */
function namesIn(known: Look['known'], options: InspectOptions): readonly string[] {
  const asked = inspectedNames(options.what, options);
  if (known === undefined) return asked;
  const view = expectedView(known, options.namespace);
  const found = orCommandError(() => asked.map(text => inspectedBy(view, text)));
  writeNotes(found.flatMap(({ note }) => note ?? []));
  return found.flatMap(({ names }) => names);
}

/** Most machines without an agent are no node at all: what they do not have says nothing of the cluster. */
function nothingToInspect({ missing }: { readonly missing: string }): string {
  return `there are no Sluice rules on this machine, and no agent to compare with: ${missing}; --kubeconfig asks the nodes of a cluster`;
}

/** The inspection with the counters of the rules, on a node that counts. */
async function counted(actual: Ruleset): Promise<Inspection> {
  const inspection = inspectRuleset(actual);
  if (ruleCountersIn(actual) === undefined) return inspection;
  const reader = new RuleCountReader();
  try {
    return withCounts(inspection, await reader.all());
  } finally {
    reader.close();
  }
}

async function settledLook(options: InspectOptions): Promise<Look> {
  let last = await look(options);
  for (let looks = 1; isUnsettled(last, options, looks) && looks < MOST_LOOKS; looks++) {
    await sleep(SETTLE_MS);
    last = await look(options, true);
  }
  if (!last.isMoving) return last;
  return { ...last, comparison: { missing: 'the agent changed its rules each time that they were read' } };
}

/** A difference counts if it is there twice while nothing changes. */
function isUnsettled({ comparison, isMoving }: Look, { manifests }: InspectOptions, looks: number): boolean {
  return manifests === undefined && isDifferent(comparison) && (looks < 2 || isMoving === true);
}

async function look(options: InspectOptions, noted = false): Promise<Look> {
  const expected = await findExpected('inspect', options);
  const { ruleset: actual, queue } = await lookAtKernel();
  if ('missing' in expected) return { actual, comparison: expected };
  if (!noted) for (const note of auditedNote(expected.cluster)) writeNote(`note: ${note}`);
  const desired = desiredAsProgrammed(actual, { ...expected, queue });
  const difference = plan(actual, expected.guarded ? desired : withoutGuard(desired));
  const { source, progress } = expected;
  const isMoving = difference.length > 0 && (await hasMoved(progress, options));
  const comparison = { source, difference, ...(progress && { progress }) };
  return { actual, comparison, known: expected, isMoving };
}

async function hasMoved(before: AgentProgress | undefined, { socket }: InspectOptions): Promise<boolean> {
  return before !== undefined && (await readProgress(socket)).commits !== before.commits;
}

function isDifferent(comparison: Comparison): boolean {
  return 'difference' in comparison && comparison.difference.length > 0;
}

// The part of an inspection that is about a pod, a namespace or a policy.

/**
 * Keeps the parts about pods (`shop/web`), namespaces (`shop`) or policies (`NetworkPolicy shop/web`). Throws
 * CommandError if there are none, with the reason as far as the cluster is known.
 */
export function onlyAbout(
  inspection: Inspection,
  what: readonly string[],
  known?: Pick<Expected, 'cluster' | 'node'>,
): Inspection {
  if (what.length === 0) return inspection;
  const pods = inspection.pods.filter(pod => what.some(each => isMeant(pod, each)));
  if (pods.length > 0) return { ...inspection, pods };
  const own = what.find(each => isOwnPod(each, known));
  throw new CommandError(whyNothing(inspection, own ?? what[0]!, known));
}

/** Pods of this node that are asked for with others, and have no rules. */
function unselectedNotes(
  { pods }: Inspection,
  what: readonly string[],
  known: Pick<Expected, 'cluster' | 'node'> | undefined,
): string[] {
  const shown = new Set(pods.map(({ pod }) => pod));
  const left = what.filter(each => isOwnPod(each, known) && !shown.has(each));
  return left.length === 0 ? [] : [`no policy that is programmed selects ${firstOf(left, MOST_ITEMS)}`];
}

function isOwnPod(name: string, known: Pick<Expected, 'cluster' | 'node'> | undefined): boolean {
  return known !== undefined && known.cluster.pods.get(name as PodKey)?.node === known.node;
}

function whyNothing(
  { pods }: Inspection,
  what: string,
  known: Pick<Expected, 'cluster' | 'node'> | undefined,
): string {
  const pod = known?.cluster.pods.get(what as PodKey);
  if (isOwnPod(what, known))
    return `pod ${what} is of this node, and no policy that is programmed selects it`;
  const names = new Set(pods.flatMap(each => [each.pod, each.pod.slice(0, each.pod.indexOf('/'))]));
  const close = didYouMean(what, [...names]);
  const hint =
    pod !== undefined
      ? `it is of ${pod.node || 'no node yet'}`
      : close === undefined
        ? 'sluice inspect shows all'
        : `did you mean ${close}?`;
  return `no pod of this node is ${what}, is in it, or is judged by it: ${hint}`;
}

const NO_STATUSES: PolicyStatuses = { policies: [], policies_in_all: 0 };

/** The statuses of policies that select one of these pods, are in the namespace, or are the named ones. */
export function statusesAbout(
  { pods }: Inspection,
  all = NO_STATUSES,
  what: readonly string[],
): PolicyStatuses {
  if (what.length === 0) return all;
  const judges = new Set(pods.flatMap(pod => [...sourcesOf(pod)]));
  const isAbout = ({ policy }: PolicyStatusMessage) =>
    judges.has(labelOf(policy)) ||
    what.includes(policy) ||
    what.includes(labelOf(policy)) ||
    what.includes(namespaceOfPolicy(policy as PolicyId) ?? '');
  const policies = all.policies.filter(isAbout);
  return { policies, policies_in_all: policies.length };
}

/** The labels of all policies that its rules name. */
function sourcesOf({ ingress, egress }: PodInspection): ReadonlySet<string> {
  const rules = [...(ingress?.rules ?? []), ...(egress?.rules ?? [])];
  return new Set(rules.flatMap(({ source = '' }) => source.split(/[ ,]+/)));
}

function isMeant(inspected: PodInspection, what: string): boolean {
  const { pod } = inspected;
  return pod === what || pod.startsWith(`${what}/`) || sourcesOf(inspected).has(labelOf(what));
}

// What `sluice inspect` found, for people as lines and for programs as an object.

/** What leads from the actual to the desired state, and whose desired state that is; or why it is not known. */
export type Comparison =
  | { readonly source: string; readonly difference: readonly Op[]; readonly progress?: AgentProgress }
  | { readonly missing: string };

export function inspectionObject(
  inspection: Inspection,
  comparison: Comparison,
  policies: readonly PolicyStatusMessage[] = [],
): object {
  const equal = 'missing' in comparison ? null : comparison.difference.length === 0;
  const difference = 'missing' in comparison ? [] : comparison.difference.map(opText);
  const pods = inspection.pods.map(({ ingress, egress, ...pod }) => ({
    ...pod,
    ...(ingress && { ingress: directionObject(ingress) }),
    ...(egress && { egress: directionObject(egress) }),
  }));
  const waitingPods = 'missing' in comparison ? 0 : (comparison.progress?.waitingPods ?? 0);
  return versioned('Inspection', { ...inspection, pods, equal, difference, waitingPods, policies });
}

function directionObject({ chain, rules }: DirectionInspection): object {
  const rulesInWords = rules.map(({ family, ...rule }) => ({
    ...rule,
    ...(family && { family: family === 'ip' ? 'ipv4' : 'ipv6' }),
  }));
  return { chain, rules: rulesInWords };
}

/** Long lists whole where it is wide, else their first items. */
export function inspectionLines(
  inspection: Inspection,
  comparison: Comparison,
  isWide = false,
  statuses = NO_STATUSES,
): string[] {
  return [
    ...programmedLines(inspection, isWide ? Number.POSITIVE_INFINITY : MOST_ITEMS),
    ...policyLines(statuses, isWide),
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

/** Pods that share their chains are judged by the same rules, so they are shown once. */
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

/** `  names    *.cloud.example: 192.0.2.7 (8 min 52 s more), 192.0.2.8 (2 min more), and 12 more`. */
function namesText({ peers, addresses, total }: NamesInspection): string {
  const shown = addresses.slice(0, MOST_ADDRESSES).map(addressText);
  const more = total - shown.length;
  return `  names    ${HANG}${peers}: ${shown.join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}

/** As `sluice explain` says it, where the agent knows. */
function addressText({ address, leftSeconds, byKernel }: NamedAddress): string {
  const left = spanText(leftSeconds * 1_000);
  return byKernel ? `${address} (at most ${left})` : `${address} (${left} more)`;
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
