/** What a question about one connection comes to: one verdict, and where it is not the same for all that is meant. */
import { FAMILIES, type Family } from '../model/address.ts';
import type { Cluster } from '../model/cluster.ts';
import type { ToldFact } from '../names/toldfacts.ts';
import type { DirectionVerdict, FlowVerdict } from '../semantics/evaluate.ts';
import { FlowTextError } from '../semantics/flowtext.ts';
import { auditNotes } from './auditnotes.ts';
import { namesNotes, toldOf } from './byname.ts';
import { unheardDenials } from './elsewhere.ts';
import { type NamedEnd, parseEnd } from './endname.ts';
import { type Case, judge, withNames } from './judge.ts';
import { maybeNode } from './maybenode.ts';
import type { Place, Targets, World } from './place.ts';
import { placesOf } from './places.ts';
import { MOST_PIECES } from './settle.ts';
import { shortNameOf, targetsOf } from './targets.ts';
import { type GivenQuestion, withGiven } from './traffic.ts';

/** A connection as it was asked for; `given` is what was said of the cluster beside. */
export type Question = GivenQuestion;

export type Verdict = 'allow' | 'deny' | 'undecided';

export type Difference = 'family' | 'source' | 'destination' | 'address';

export interface Answer {
  readonly question: Question;
  /** The stricter, where there are several; undecided where nobody can say. */
  readonly verdict: Verdict;
  /** One sentence: the reason that matters most. */
  readonly reason: string;
  /** Of each family that both ends have. */
  readonly families: Readonly<Partial<Record<Family, 'allow' | 'deny'>>>;
  readonly differsBy: readonly Difference[];
  /** The case that the verdict comes from: absent where there is none. */
  readonly decisive?: Case;
  readonly cases: readonly Case[];
  readonly notes: readonly string[];
  /** What the pods were told by DNS of the name or the address that they go to, as far as an agent says it. */
  readonly told: readonly ToldFact[];
  /** Of which the flows of the cases are. */
  readonly cluster: Cluster;
}

/** Connections that audited policies are asked of: each makes a view of the cluster. */
const MOST_AUDITED = 16;

/** Throws FlowTextError where the question cannot be read, or names what is not there. */
export function answer(known: World, question: Question): Answer {
  const { given } = question;
  const world = given === undefined ? known : { ...known, cluster: withGiven(known.cluster, given) };
  const [from, to] = [parseEnd(question.from), parseEnd(question.to)];
  if (from.port ?? from.protocol) throw new FlowTextError(`"${from.text}": only the destination has a port`);
  const targets = targetsOf(world, to);
  const sources = sourcesOf(world, from);
  const { cases, cluster, isCut } = judge(world, sources, targets.targets, familyAsked(from, to));
  if (cases.length === 0 && targets.undecided === undefined) throw new FlowTextError(noFamily(from, to));
  const maybe = maybeNode(cluster, cases, world.unknownPods);
  const unheard = new Map([
    ...unheardDenials(cluster, cases, world.known, world.unknownPods),
    ...maybe.undecided,
  ]);
  const decisive = decisiveOf(cases, unheard);
  const undecided = targets.undecided ?? (decisive && unheard.get(decisive));
  return {
    question,
    verdict: undecided === undefined ? decisive!.verdict.verdict : 'undecided',
    reason: undecidedText(targets, decisive) ?? undecided ?? reasonOf(decisive!),
    families: familiesOf(cases),
    differsBy: differencesIn(cases),
    ...(decisive && { decisive }),
    cases,
    notes: [
      ...notesOf(targets, isCut),
      ...maybe.notes,
      ...namesNotes(to, sources, { cases, cluster }, world),
      ...new Set(
        cases.slice(0, MOST_AUDITED).flatMap(({ flow }) => auditNotes(cluster, flow, world.unknownPods)),
      ),
    ],
    told: toldOf(to, sources, world.known),
    cluster,
  };
}

export function reasonOf(each: Case): string {
  return withNames(decisiveDirection(each.verdict).reason, each);
}

/** A Service is no source: what comes from it comes from its pods. */
function sourcesOf(world: World, end: NamedEnd): readonly Place[] {
  const { name, text } = end;
  if (name.kind === 'service' || shortNameOf(world, end) !== undefined)
    throw new FlowTextError(`"${text}": no connection comes from a Service: name what is behind it`);
  return placesOf(world, name);
}

function familyAsked(from: NamedEnd, to: NamedEnd): Family | undefined {
  if (from.family && to.family && from.family !== to.family)
    throw new FlowTextError(`"${from.text}" and "${to.text}" are not of one address family`);
  return from.family ?? to.family;
}

function noFamily(from: NamedEnd, to: NamedEnd): string {
  const asked = familyAsked(from, to);
  if (asked === undefined) return `"${from.text}" and "${to.text}" have no address family in common`;
  const family = asked === 'ip' ? 'IPv4' : 'IPv6';
  return `"${from.text}" or "${to.text}" has no ${family} address`;
}

/** A denial that holds whatever pods were told counts before one that DNS may have lifted. */
function decisiveOf(cases: readonly Case[], unheard: ReadonlyMap<Case, string>): Case | undefined {
  const denied = cases.filter(({ verdict }) => verdict.verdict === 'deny');
  return (
    denied.find(each => !unheard.has(each)) ?? denied[0] ?? cases.find(each => unheard.has(each)) ?? cases[0]
  );
}

function undecidedText({ undecided }: Targets, decisive: Case | undefined): string | undefined {
  if (undecided === undefined || decisive === undefined) return undecided;
  return `${undecided} (were it nobody's, policy would ${decisive.verdict.verdict} it)`;
}

/** The direction whose reason matters most: the one that denies, else the one that a policy decided. */
export function decisiveDirection({ egress, ingress }: FlowVerdict): DirectionVerdict {
  if (egress.verdict === 'deny') return egress;
  if (ingress.verdict === 'deny' || ingress.policy !== undefined) return ingress;
  return egress.policy === undefined ? ingress : egress;
}

function familiesOf(cases: readonly Case[]): Answer['families'] {
  const found: Partial<Record<Family, 'allow' | 'deny'>> = {};
  for (const { family, verdict } of cases) if (found[family] !== 'deny') found[family] = verdict.verdict;
  return found;
}

/** By what the verdict can be told: whatever two values of it give two verdicts while nothing else changes does not matter. */
function differencesIn(cases: readonly Case[]): Difference[] {
  const keys: Record<Difference, (each: Case) => unknown> = {
    family: ({ family }) => family,
    source: ({ from }) => from,
    destination: ({ to, viaNode }) => `${to.place.name}:${to.port} ${viaNode ?? ''}`,
    address: ({ fromRange, toRange }) => (fromRange ?? toRange) && `${fromRange?.first} ${toRange?.first}`,
  };
  if (new Set(cases.map(({ verdict }) => verdict.verdict)).size < 2) return [];
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
function separates(cases: readonly Case[], keyOf: (each: Case) => unknown): boolean {
  const strictest = new Map<unknown, 'allow' | 'deny'>();
  for (const each of cases) {
    const key = keyOf(each);
    if (strictest.get(key) !== 'deny') strictest.set(key, each.verdict.verdict);
  }
  return new Set(strictest.values()).size > 1;
}

function notesOf({ notes }: Targets, isCut: boolean): readonly string[] {
  return isCut
    ? [...notes, `only the first of what this may mean was judged (at most ${MOST_PIECES} networks)`]
    : notes;
}

/** Whom one end names, without port and protocol: `shop/web`, `10.0.0.1`, `svc/api`. */
export function endHost(text: string): string {
  const { name, port, protocol } = parseEnd(text);
  if (name.kind === 'address') return name.address;
  const tail = `${port === undefined ? '' : `:${port}`}${protocol === undefined ? '' : `/${protocol}`}`;
  return text.slice(0, text.length - tail.length).replace(/@[46]$/, '');
}
