/**
 * The NetworkPolicies that allow guessed connections, and nothing else, with a comment at each rule that says why. A namespace has
 * one that denies everything, one for DNS, and one for each workload. If no policy can name some of its pods, the first two would
 * cut these off: then each workload that can be named has one that allows DNS too, and is isolated by that alone.
 */
import { decodeObject } from '../../inputs/kube/decode/decode.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import { groupedBy } from '../../lib/collections/groupedby.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import type { Cluster } from '../../model/cluster.ts';
import { hasLabels } from '../../model/labels.ts';
import { NamespaceBudget } from '../../model/namespacebudget.ts';
import { DIRECTIONS, type Direction, namespaceOfPolicy, type Policy } from '../../model/policy.ts';
import { makerText } from '../../model/workload.ts';
import { endText, type Guess, type GuessEnd, type Guesses } from './guess.ts';
import { isPrometheus, type Member } from './members.ts';
import { Peers, policyObject, type Selector, SYSTEM, type World } from './peers.ts';

export interface GuessedPolicies {
  readonly objects: readonly GuessedPolicy[];
  /** What a person would write beside an address, by the CIDR of a peer. */
  readonly remarks: ReadonlyMap<string, string>;
  /** Sentences on whom no policy can name, and who is left as it is because of that. */
  readonly notWritten: readonly string[];
  /** Ids of those that these policies isolate and no guess is about. */
  readonly nothingFor: readonly string[];
}

export interface GuessedPolicy {
  readonly object: object;
  readonly policy: Policy;
  /** By the path of a rule, such as `spec.egress.0`. */
  readonly comments: ReadonlyMap<string, readonly string[]>;
}

/** For the workloads of a namespace; where none is named, of all but that of the system. */
export function policiesFor(
  world: World,
  { members, guesses }: Guesses,
  namespace?: string,
): GuessedPolicies {
  const peers = new Peers(world);
  const writer = new Writer(world, peers, rulesFor(guesses, peers));
  const own = members.filter(({ pod }) => !pod.hostNetwork && (namespace ?? pod.namespace) === pod.namespace);
  // A namespace of which only a Prometheus is known may have other pods, which must not be isolated.
  const known = own.filter(({ selector }) => selector === undefined).map(({ pod }) => pod.namespace);
  const namespaces = [...new Set(known)].filter(each => each !== SYSTEM || each === namespace).sort();
  const byNamespace = groupedBy(own, ({ pod }) => pod.namespace);
  const found = new Set<GuessEnd>(guesses.flatMap(({ from, to }) => (to === 'dns' ? [] : [from, to])));
  const isolated = new Set(namespaces);
  const isIsolated = (member: Member) =>
    isolated.has(member.pod.namespace) && peers.selectorOf(member) !== undefined;
  return {
    objects: namespaces.flatMap(each => writer.namespace(each, byNamespace.get(each)!)),
    nothingFor: own.filter(each => !found.has(each) && isIsolated(each)).map(({ id }) => id),
    remarks: peers.remarks,
    notWritten: [...peers.nameless, ...writer.notes],
  };
}

interface GuessedRule {
  readonly peers: readonly object[];
  readonly isAnyone: boolean;
  /** Why, by protocol and port. */
  readonly ports: Map<string, readonly string[]>;
}

type Rules = Readonly<Record<Direction, Map<string, GuessedRule>>>;

/** Where an end cannot be named, the connection has no rule at the other end: that is left out alone. */
function rulesFor(guesses: readonly Guess[], peers: Peers): ReadonlyMap<Member, Rules> {
  const rules = new Map<Member, Rules>();
  for (const { from, to, protocol, port, why } of guesses) {
    const put = (own: GuessEnd, peer: GuessEnd, direction: Direction) => {
      if (typeof own === 'string' || peer === 'dns') return;
      const found = peers.of(peer, own.pod.namespace);
      if (found === undefined || peers.selectorOf(own) === undefined) return;
      const each = getOrMake(rules, own, () => ({ ingress: new Map(), egress: new Map() }))[direction];
      const rule = getOrMake(each, endText(peer), () => ({
        peers: found,
        isAnyone: peer === 'anyone',
        ports: new Map(),
      }));
      rule.ports.set(`${protocol} ${port}`, why);
    };
    put(from, to, 'egress');
    put(to, from, 'ingress');
  }
  return rules;
}

const ISOLATION = 'suggested-default-deny';
const DNS = 'suggested-dns';
const DNS_SERVER = 'suggested-dns-server';
const LOOKS_UP = ['every pod looks up names'];

class Writer {
  readonly notes: string[] = [];
  readonly #world: World;
  readonly #peers: Peers;
  readonly #rules: ReadonlyMap<Member, Rules>;

  constructor(world: World, peers: Peers, rules: ReadonlyMap<Member, Rules>) {
    this.#world = world;
    this.#peers = peers;
    this.#rules = rules;
  }

  /** `beyond` are members whose rules the namespace has no room for. */
  namespace(
    name: string,
    members: readonly Member[],
    beyond: ReadonlySet<Member> = new Set(),
  ): readonly GuessedPolicy[] {
    const unnamed = members.filter(each => beyond.has(each) || this.#peers.selectorOf(each) === undefined);
    const open = [...this.#unreadIn(name), ...unnamed.map(({ id }) => id)];
    const common = [...(open.length > 0 ? [] : this.#ofAllPods(name)), ...this.#ofDnsServer(name, unnamed)];
    const { cluster } = this.#world;
    const [names, room] = [new Names(cluster, name), new Room(cluster, name)];
    room.takes(common);
    const refused: Member[] = [];
    const own = members.flatMap(member => {
      const made = beyond.has(member) ? [] : this.#ofMember(member, open.length > 0, names);
      if (room.takes(made)) return made;
      refused.push(member);
      return [];
    });
    if (refused.length > 0) return this.namespace(name, members, new Set([...beyond, ...refused]));
    this.notes.push(...[...beyond].map(({ id }) => `${id}: the namespace has no room for its rules`));
    if (open.length > 0 && own.length > 0) this.notes.push(withoutIsolation(name, open));
    return [...common, ...own];
  }

  /** What makes pods there of which nobody knows the labels. */
  #unreadIn(name: string): string[] {
    const { podMakers } = this.#world.inventory;
    return podMakers.filter(each => each.namespace === name && !isPrometheus(each)).map(makerText);
  }

  #ofAllPods(namespace: string): GuessedPolicy[] {
    const closed = { podSelector: {}, policyTypes: ['Ingress', 'Egress'] };
    const { rule } = this.#toDns(namespace);
    const dns = { podSelector: {}, policyTypes: ['Egress'], egress: [rule] };
    return [
      guessedPolicy(policyObject(ISOLATION, namespace, closed)),
      guessedPolicy(policyObject(DNS, namespace, dns), new Map([['spec.egress.0', LOOKS_UP]])),
    ];
  }

  #toDns(namespace: string): Allowed {
    const { dns } = this.#peers;
    return {
      direction: 'egress',
      rule: { to: this.#peers.of('dns', namespace), ports: dns.ports },
      why: LOOKS_UP,
    };
  }

  /** Everybody asks it, where a Service says which pods it is and each of these can be named. */
  #ofDnsServer(namespace: string, unnamed: readonly Member[]): GuessedPolicy[] {
    const { selector, ports, isKnown } = this.#peers.dns;
    if (namespace !== SYSTEM || !isKnown || unnamed.some(({ pod }) => hasLabels(pod.labels, selector)))
      return [];
    const spec = { podSelector: { matchLabels: selector }, policyTypes: ['Ingress'], ingress: [{ ports }] };
    const comments = new Map([['spec.ingress.0', LOOKS_UP]]);
    return [guessedPolicy(policyObject(DNS_SERVER, namespace, spec), comments)];
  }

  #ofMember(member: Member, withDns: boolean, names: Names): GuessedPolicy[] {
    const { namespace } = member.pod;
    const selector = this.#peers.selectorOf(member);
    const rules = this.#rules.get(member);
    if (selector === undefined) return [];
    const allowed = [...(withDns ? [this.#toDns(namespace)] : []), ...(rules ? allowedBy(rules) : [])];
    if (allowed.length === 0) return [];
    const fits = (some: readonly Allowed[]) =>
      decodeObject(policyObject('suggested', namespace, specOf(selector, some))).problems.length === 0;
    return inHalves(allowed, fits).map(some => {
      const object = policyObject(names.free(`allow-${member.name}`), namespace, specOf(selector, some));
      return guessedPolicy(object, commentsOf(some));
    });
  }
}

function withoutIsolation(namespace: string, open: readonly string[]): string {
  return `${ISOLATION} and ${DNS} of ${namespace}: they would cut off ${firstOf(open, 5)}`;
}

/** A rule of a policy. */
interface Allowed {
  readonly direction: Direction;
  readonly rule: object;
  readonly why: readonly string[];
}

/** More peers or ports in a rule could be too much for any policy. */
const MOST_IN_RULE = 100;

function allowedBy(rules: Rules): Allowed[] {
  return DIRECTIONS.flatMap(direction =>
    withoutCovered(rules[direction]).flatMap(({ peers, isAnyone, ports }) => {
      const why = [...new Set([...ports.values()].flat())];
      const key = direction === 'ingress' ? 'from' : 'to';
      const ends = isAnyone ? [{}] : slices(peers).map(some => ({ [key]: some }));
      return slices([...ports.keys()].sort().map(portObject)).flatMap(some =>
        ends.map(end => ({ direction, rule: { ...end, ports: some }, why })),
      );
    }),
  );
}

function slices<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / MOST_IN_RULE);
  return Array.from({ length: count }, (_, at) => items.slice(at * MOST_IN_RULE, (at + 1) * MOST_IN_RULE));
}

/** What anyone may reach needs no rule of its own for somebody. */
function withoutCovered(rules: ReadonlyMap<string, GuessedRule>): GuessedRule[] {
  const all = [...rules.values()];
  const open = new Set(all.flatMap(({ isAnyone, ports }) => (isAnyone ? [...ports.keys()] : [])));
  return all
    .map(rule =>
      rule.isAnyone ? rule : { ...rule, ports: new Map([...rule.ports].filter(([port]) => !open.has(port))) },
    )
    .filter(({ ports }) => ports.size > 0);
}

function portObject(text: string): object {
  const [protocol, port] = text.split(' ');
  return { protocol, port: Number(port) };
}

/** A policy that is too large isolates, and allows nothing (docs/limits.md). */
function inHalves<T>(all: readonly T[], fits: (some: readonly T[]) => boolean): (readonly T[])[] {
  if (all.length < 2 || fits(all)) return [all];
  const middle = all.length >> 1;
  return [all.slice(0, middle), all.slice(middle)].flatMap(half => inHalves(half, fits));
}

function specOf(podSelector: Selector, allowed: readonly Allowed[]): object {
  const of = (direction: Direction) =>
    allowed.filter(each => each.direction === direction).map(({ rule }) => rule);
  const [ingress, egress] = [of('ingress'), of('egress')];
  return {
    podSelector,
    policyTypes: ['Ingress', 'Egress'],
    ...(ingress.length > 0 && { ingress }),
    ...(egress.length > 0 && { egress }),
  };
}

function commentsOf(allowed: readonly Allowed[]): GuessedPolicy['comments'] {
  return new Map(
    DIRECTIONS.flatMap(direction =>
      allowed
        .filter(each => each.direction === direction)
        .map(({ why }, at) => [`spec.${direction}.${at}`, why] as const),
    ),
  );
}

function guessedPolicy(object: object, comments: GuessedPolicy['comments'] = new Map()): GuessedPolicy {
  const { event, problems } = decodeObject(object);
  if (event?.type !== 'policy' || event.value === undefined) throw new Error(JSON.stringify(problems));
  return { object, comments, policy: event.value };
}

/** What the namespace may still have, beside the policies that are there. */
class Room {
  readonly #budget = new NamespaceBudget();
  readonly #refused: number;

  constructor({ policies }: Cluster, namespace: string) {
    const there = [...policies.values()].filter(({ id }) => namespaceOfPolicy(id) === namespace);
    this.#budget.pass(there.map(eventOf));
    this.#refused = this.#budget.problems().length;
  }

  /** All of them, or none where that would be too much. */
  takes(policies: readonly GuessedPolicy[]): boolean {
    this.#budget.pass(policies.map(({ policy }) => eventOf(policy)));
    if (this.#budget.problems().length <= this.#refused) return true;
    this.#budget.pass(policies.map(({ policy: { id } }) => ({ type: 'policy', key: id })));
    return false;
  }
}

function eventOf(policy: Policy) {
  return { type: 'policy', key: policy.id, value: policy } as const;
}

/** `kubectl apply` would replace a policy that has the name. */
class Names {
  readonly #taken: Set<string>;
  readonly #last = new Map<string, number>();

  constructor({ policies, audited = new Map() }: Cluster, namespace: string) {
    const there = [...policies.keys(), ...audited.keys()].filter(id => namespaceOfPolicy(id) === namespace);
    this.#taken = new Set(there.map(id => id.slice(id.indexOf('/') + 1)));
  }

  free(name: string): string {
    const base = name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, 240)
      .replace(/-$/, '');
    for (let n = (this.#last.get(base) ?? 0) + 1; ; n++) {
      const found = n === 1 ? base : `${base}-${n}`;
      if (this.#taken.has(found)) continue;
      this.#taken.add(found);
      this.#last.set(base, n);
      return found;
    }
  }
}
