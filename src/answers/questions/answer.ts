/** The answer to a question about one connection: one verdict, or the cases in which it differs. */
import { type Address, type AddressRange, FAMILIES, FAMILY_NAME, type Family } from '../../model/address.ts';
import { enforced } from '../../model/audited.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { comparePolicies, type Policy } from '../../model/policy.ts';
import type { DnsRecord } from '../../names/dnscache.ts';
import { auditor, mayAffect } from '../../semantics/audit.ts';
import type { DirectionVerdict, FlowVerdict } from '../../semantics/evaluate.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';
import { viewOf } from '../../semantics/view.ts';
import { arrivalNotes, claimNotes } from './addressnotes.ts';
import { API_SERVER, apiServerPlaces, unlessSameApiServer } from './apiserver.ts';
import { namesNotes, resolvedFor } from './byname.ts';
import { sameForAllLabels } from './completions.ts';
import { dnsDeniedNotes } from './dnsdenied.ts';
import { type NamedEndpoint, parseEndpoint } from './endpoint.ts';
import { type JudgedFlow, judge, judgeSeen, MOST_PIECES, withNames } from './judge.ts';
import { nearSubjectNotes } from './nearsubject.ts';
import { type ClusterView, podOf, type ResolvedEndpoint, type Targets, type UnlessSame } from './place.ts';
import { placesOf } from './places.ts';
import { rangesText } from './ranges.ts';
import { comingNotes, type StatusesByPolicy, statusesByPolicy } from './statuses.ts';
import { shortNameOf, targetsOf } from './targets.ts';
import { type GivenQuestion, withGiven } from './traffic.ts';
import { doubtsOf } from './undecided.ts';
import type { Dialled } from './ways.ts';

/** A connection as it was asked for; `given` are facts about the cluster that came with the question. */
export type Question = GivenQuestion;

export interface Answer {
  readonly question: Question;
  /** The stricter verdict if there are several; undecided if facts are missing. */
  readonly verdict: Verdict;
  /** One sentence: the reason that matters most. */
  readonly reason: string;
  /** The verdict of each address family that both source and destination have. */
  readonly families: Readonly<Partial<Record<Family, Verdict>>>;
  readonly differsBy: readonly Difference[];
  /** The case that the verdict comes from: absent where there is none. */
  readonly decisive?: JudgedFlow;
  readonly cases: readonly JudgedFlow[];
  readonly notes: readonly string[];
  /** Answers of DNS to the source pods about the destination, as far as an agent reports them. */
  readonly resolved: readonly DnsRecord[];
  /** What has become of policies on the node whose agent is asked. */
  readonly statuses: StatusesByPolicy;
  /** The cluster in which the flows of the cases were judged. */
  readonly cluster: Cluster;
  readonly inventory: Inventory;
}

/** The most connections that are judged by audited policies: each makes a view of the cluster. */
const MOST_AUDITED = 16;

/** Throws FlowTextError if the question cannot be read, or names an object that does not exist. */
export function answer(known: ClusterView, question: Question): Answer {
  const { given } = question;
  const view = given === undefined ? known : { ...known, cluster: withGiven(known.cluster, given) };
  const [from, to] = [parseEndpoint(question.from), parseEndpoint(question.to)];
  if (from.port ?? from.protocol) throw new FlowTextError(`"${from.text}": only the destination has a port`);
  const targets = targetsOf(view, to);
  const sources = sourcesOf(view, from);
  const judged = judgeAll(view, sources, targets, familyAsked(from, to));
  const { cluster, isCut } = judged;
  if (judged.cases.length === 0 && targets.undecided === undefined)
    throw new FlowTextError(noFamily(from, to));
  const unlessSame = [from, to].some(end => isApiServer(view, end)) ? unlessSameApiServer(view) : undefined;
  const cases = sameOrUndecided(judged.cases, unlessSame);
  const decisive = decisiveOf(cases);
  const statuses = statusesByPolicy(view.statuses);
  return {
    question,
    verdict: decisive === undefined ? 'undecided' : verdictOfCase(decisive),
    reason: decisive === undefined ? targets.undecided! : reasonOf(decisive),
    families: verdictsByFamily(cases),
    differsBy: differencesIn(cases),
    ...(decisive && { decisive }),
    cases,
    notes: [
      ...notesOf(targets, isCut),
      ...unknownNotes(cases, unlessSame),
      ...(isApiServer(view, from) ? [CALLED_BY_AGENTS] : []),
      ...(cases.some(({ undecided }) => undecided !== undefined) ? [] : sameForAllLabels(judged.completions)),
      ...judged.notes,
      ...arrivalNotes(cases, cluster),
      ...claimNotes(cases, cluster),
      ...namesNotes(to, sources, { cases, cluster }, view),
      ...dnsDeniedNotes([from, to], podsIn(targets), question, known, other => answer(known, other)),
      ...nearSubjectNotes(decisive, view),
      ...comingNotes(statuses, cluster, cases),
      ...new Set(cases.slice(0, MOST_AUDITED).flatMap(each => auditNotes(cluster, each, view.unknownPods))),
    ],
    resolved: resolvedFor(to, sources, view.known),
    statuses,
    cluster,
    inventory: view.inventory,
  };
}

function podsIn({ targets }: Targets): readonly Pod[] {
  return targets.flatMap(({ endpoint }) => podOf(endpoint) ?? []);
}

/** Every connection between these, judged, with what is not known of it. */
export function judgeAll(
  view: ClusterView,
  sources: readonly ResolvedEndpoint[],
  targets: Targets,
  family?: Family,
) {
  const judged = judge(view, sources, targets.targets, family);
  const { cluster } = judged;
  const { undecided, notes } = doubtsOf(cluster, judged.cases, view);
  const cases = judged.cases.map(each => withDoubt(each, undecided.get(each), targets));
  return { ...judged, cases, notes };
}

/** The same answer as undecided, because something that could not be read may change it. */
export function inDoubt(found: Answer, why: string): Answer {
  const cases = found.cases.map(each => {
    return { ...each, undecided: `${why} (${verdictOfCase(each)}: ${reasonOf(each)})` };
  });
  const decisive = found.decisive && cases[found.cases.indexOf(found.decisive)]!;
  return {
    ...found,
    verdict: 'undecided',
    reason: why,
    families: verdictsByFamily(cases),
    differsBy: differencesIn(cases),
    ...(decisive && { decisive }),
    cases,
  };
}

export function reasonOf(each: JudgedFlow): string {
  return each.undecided ?? withNames(decisiveDirection(each.verdict).reason, each);
}

function isApiServer(view: ClusterView, end: NamedEndpoint): boolean {
  const name = end.name.kind === 'service' ? end.name : shortNameOf(view, end);
  return name !== undefined && `${name.namespace ?? view.defaultNamespace}/${name.name}` === API_SERVER;
}

/** A Service cannot be a source: connections come from its pods. The API server itself calls webhooks. */
function sourcesOf(view: ClusterView, end: NamedEndpoint): readonly ResolvedEndpoint[] {
  const { name, text } = end;
  if (isApiServer(view, end)) return apiServerPlaces(view);
  if (name.kind === 'service' || shortNameOf(view, end) !== undefined)
    throw new FlowTextError(`"${text}": no connection comes from a Service: name what is behind it`);
  return placesOf(view, name);
}

function familyAsked(from: NamedEndpoint, to: NamedEndpoint): Family | undefined {
  if (from.family && to.family && from.family !== to.family)
    throw new FlowTextError(`"${from.text}" and "${to.text}" are not of one address family`);
  return from.family ?? to.family;
}

function noFamily(from: NamedEndpoint, to: NamedEndpoint): string {
  const asked = familyAsked(from, to);
  if (asked === undefined) return `"${from.text}" and "${to.text}" have no address family in common`;
  return `"${from.text}" or "${to.text}" has no ${FAMILY_NAME[asked]} address`;
}

/** Adds the reason if the case is undecided. */
function withDoubt(each: JudgedFlow, unheard: string | undefined, { undecided }: Targets): JudgedFlow {
  if (undecided !== undefined)
    return {
      ...each,
      undecided: `${undecided} (if no pod is behind it, policy would ${each.verdict.verdict} it)`,
    };
  return unheard === undefined ? each : { ...each, undecided: unheard };
}

const CALLED_BY_AGENTS =
  'judged from the endpoints of the API server: where a cluster has konnectivity, it calls through pods of that instead';

function sameOrUndecided(
  cases: readonly JudgedFlow[],
  unknown: UnlessSame | undefined,
): readonly JudgedFlow[] {
  const isSame = unknown === undefined || (unknown.isAll && new Set(cases.map(verdictOfCase)).size === 1);
  if (isSame) return cases;
  const undecided = `${unknown.why}: policy may allow some and deny others`;
  return cases.map(each => ({ ...each, undecided }));
}

function unknownNotes(cases: readonly JudgedFlow[], unknown: UnlessSame | undefined): readonly string[] {
  if (unknown === undefined || cases.some(({ undecided }) => undecided !== undefined)) return [];
  return [`${unknown.why}; the verdict is the same for any`];
}

/** A denial that holds for every DNS answer counts before one that an answer may have lifted. */
export function decisiveOf(cases: readonly JudgedFlow[]): JudgedFlow | undefined {
  const denied = cases.filter(({ verdict }) => verdict.verdict === 'deny');
  return (
    denied.find(({ undecided }) => undecided === undefined) ??
    denied[0] ??
    cases.find(({ undecided }) => undecided !== undefined) ??
    cases[0]
  );
}

/** The direction whose reason matters most: the one that denies, else the one that a policy decided. */
function decisiveDirection({ egress, ingress }: FlowVerdict): DirectionVerdict {
  if (egress.verdict === 'deny') return egress;
  if (ingress.verdict === 'deny' || ingress.policy !== undefined) return ingress;
  return egress.policy === undefined ? ingress : egress;
}

function notesOf({ notes }: Targets, isCut: boolean): readonly string[] {
  return isCut
    ? [...notes, `only the first of what this may mean was judged (at most ${MOST_PIECES} networks)`]
    : notes;
}

/** The host part of an end, without port and protocol: `shop/web`, `10.0.0.1`, `svc/api`. */
export function endHost(text: string): string {
  const { name, port, protocol } = parseEndpoint(text);
  if (name.kind === 'address') return name.address;
  const tail = `${port === undefined ? '' : `:${port}`}${protocol === undefined ? '' : `/${protocol}`}`;
  return text.slice(0, text.length - tail.length).replace(/@[46]$/, '');
}

/** The verdicts that audited policies would have for a connection: each policy alone, and all of them together. */
const MOST = 10;

/** Sentences; none where no audited policy would change the verdict. */
function auditNotes(cluster: Cluster, judged: JudgedFlow, unknownPods: UnknownPods): readonly string[] {
  if (cluster.audited === undefined || cluster.audited.size === 0) return [];
  const view = viewOf(cluster, unknownPods);
  const asked = [...cluster.audited.values()]
    .filter(policy => mayAffect(view, policy, judged.flow))
    .sort(comparePolicies);
  const change = (policies: readonly Policy[]) => {
    const audit = auditor(view, policies.map(enforced));
    const now = judgeSeen(flow => audit(flow).now, judged);
    const then = judgeSeen(flow => audit(flow).enforced, judged);
    return now.verdict === then.verdict ? undefined : then.verdict;
  };
  const each = asked.slice(0, MOST).flatMap(policy => {
    const verdict = change([policy]);
    return verdict === undefined ? [] : [`${policy.id} would ${verdict} this: it is audited, not enforced`];
  });
  const all = asked.length > 1 ? change(asked) : undefined;
  const together = all ?? (each.length > 0 && asked.length > 1 ? 'not change' : undefined);
  return [
    ...each,
    ...(together === undefined
      ? []
      : [`all ${asked.length} audited policies on it together would ${together} this`]),
  ];
}

// A question can mean many connections: the verdict that counts, and what the verdict depends on.

export type Verdict = 'allow' | 'deny' | 'undecided';

export type Difference = 'family' | 'source' | 'destination' | 'address';

export function verdictOfCase({ verdict, undecided }: JudgedFlow): Verdict {
  return undecided === undefined ? verdict.verdict : 'undecided';
}

/** The stricter verdict of each family. */
export function verdictsByFamily(cases: readonly JudgedFlow[]): Partial<Record<Family, Verdict>> {
  const found: Partial<Record<Family, Verdict>> = {};
  for (const each of cases) found[each.family] = stricter(found[each.family], verdictOfCase(each));
  return found;
}

/** A certain denial counts before an undecided case. */
const STRICTEST: readonly Verdict[] = ['deny', 'undecided', 'allow'];

export function stricter(known: Verdict | undefined, other: Verdict): Verdict {
  return STRICTEST.find(each => each === known || each === other)!;
}

/** The properties on which the verdict depends: two values of one give two verdicts, for any values of the others. */
function differencesIn(cases: readonly JudgedFlow[]): Difference[] {
  const keys: Record<Difference, (each: JudgedFlow) => unknown> = {
    family: ({ family }) => family,
    source: ({ from, onNode }) => `${from.name} ${onNode ?? ''}`,
    destination: ({ to, viaNode, dialled }) =>
      `${to.endpoint.name}:${to.port} ${viaNode} ${dialled?.address}`,
    address: ({ fromRange, toRange }) => (fromRange ?? toRange) && `${fromRange?.first} ${toRange?.first}`,
  };
  if (new Set(cases.map(verdictOfCase)).size < 2) return [];
  const { family, ...others } = keys;
  const ofEach = FAMILIES.map(each => cases.filter(({ family }) => family === each));
  return [
    ...(separates(cases, family) ? (['family'] as const) : []),
    ...(Object.keys(others) as (keyof typeof others)[]).filter(difference =>
      ofEach.some(found => separates(found, others[difference])),
    ),
  ];
}

/** Whether the stricter verdict of each value is not the same for all values. */
function separates(cases: readonly JudgedFlow[], keyOf: (each: JudgedFlow) => unknown): boolean {
  const strictest = new Map<unknown, Verdict>();
  for (const each of cases) {
    const key = keyOf(each);
    strictest.set(key, stricter(strictest.get(key), verdictOfCase(each)));
  }
  return new Set(strictest.values()).size > 1;
}

// Groups of cases that have the same explanation: of two families, or of a thousand addresses.

export interface CaseGroup {
  readonly from: string;
  readonly to: string;
  readonly port?: number;
  readonly dialled?: Dialled;
  readonly viaNode?: Address;
  readonly onNode?: string;
  readonly verdict: Verdict;
  readonly families: readonly Family[];
  /** The addresses for which this holds, if an end has no known address. */
  readonly addresses?: string;
  readonly reason: string;
}

/** Denials first, then undecided cases. */
export function groupsOf(cases: readonly JudgedFlow[]): readonly CaseGroup[] {
  const groups = new Map<string, JudgedFlow[]>();
  for (const each of cases) {
    const { from, to, dialled, viaNode, onNode, verdict } = each;
    const { policy, rule } = decisiveDirection(verdict);
    const key = JSON.stringify([
      from.name,
      to.endpoint.name,
      to.port,
      dialled?.address,
      viaNode,
      onNode,
      verdictOfCase(each),
      policy,
      rule,
    ]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [each]);
    else group.push(each);
  }
  const found = [...groups.values()].map(groupOf);
  return [
    ...found.filter(({ verdict }) => verdict === 'deny'),
    ...found.filter(({ verdict }) => verdict === 'undecided'),
    ...found.filter(({ verdict }) => verdict === 'allow'),
  ];
}

function groupOf(cases: readonly JudgedFlow[]): CaseGroup {
  const { from, to, dialled, viaNode, onNode } = cases[0]!;
  const ranges = cases.flatMap(({ fromRange, toRange }) => fromRange ?? toRange ?? []);
  return {
    from: from.name,
    to: to.endpoint.name,
    ...(to.port !== undefined && { port: to.port }),
    ...(dialled && { dialled }),
    ...(viaNode && { viaNode }),
    ...(onNode && { onNode }),
    verdict: verdictOfCase(cases[0]!),
    families: [...new Set(cases.map(({ family }) => family))],
    ...(ranges.length > 0 && { addresses: rangesText(distinct(ranges)) }),
    reason: reasonOf(cases[0]!),
  };
}

function distinct(ranges: readonly AddressRange[]): readonly AddressRange[] {
  return [...new Map(ranges.map(range => [`${range.family} ${range.first}`, range])).values()];
}
