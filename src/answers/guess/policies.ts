/** The NetworkPolicies that allow guessed connections, and nothing else, with a comment at each rule that says why. */
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Address } from '../../model/address.ts';
import { type Cluster, NAMESPACE_NAME_LABEL } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Labels } from '../../model/labels.ts';
import type { Direction } from '../../model/policy.ts';
import type { Service } from '../../model/service.ts';
import { apiServerRemarks } from '../questions/apiserver.ts';
import { podsSide } from '../questions/fix/sides.ts';
import { endText, type GuessEnd, type Guesses } from './guess.ts';
import type { Member } from './members.ts';

export interface GuessedPolicies {
  readonly objects: readonly CommentedObject[];
  /** What a person would write beside an address, by the CIDR of a peer. */
  readonly remarks: ReadonlyMap<string, string>;
  /** Sentences on workloads that no selector means. */
  readonly unselectable: readonly string[];
}

interface CommentedObject {
  readonly object: object;
  /** By the path of a rule, such as `spec.egress.0`. */
  readonly comments: ReadonlyMap<string, readonly string[]>;
}

interface World {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
}

/** Who isolates it closes the cluster's DNS, and more that no manifest of an application names. */
const SYSTEM = 'kube-system';

/** For the workloads of a namespace; where none is named, of all but that of the system. */
export function policiesFor(
  world: World,
  { members, guesses }: Guesses,
  namespace?: string,
): GuessedPolicies {
  const unselectable = new Set<string>();
  const rules = new Map<Member, Rules>();
  const peers = new Peers(world, unselectable);
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
  const own = members.filter(({ pod }) => !pod.hostNetwork && (namespace ?? pod.namespace) === pod.namespace);
  const names = new Names(world.cluster);
  // A namespace of which only a Prometheus is known may have other pods, which must not be isolated.
  const known = own.filter(({ selector }) => selector === undefined).map(({ pod }) => pod.namespace);
  const namespaces = [...new Set(known)].filter(each => each !== SYSTEM || each === namespace).sort();
  return {
    objects: namespaces.flatMap(each => [
      ...common(world.inventory, each),
      ...own
        .filter(({ pod }) => pod.namespace === each)
        .flatMap(member => {
          const selector = peers.selectorOf(member);
          const its = rules.get(member);
          return selector && its ? [allowing(member, selector, its, names)] : [];
        }),
    ]),
    remarks: peers.remarks,
    unselectable: [...unselectable],
  };
}

type Selector = Readonly<Record<string, unknown>>;

interface GuessedRule {
  /** Undefined: anyone. */
  readonly peers: readonly object[];
  readonly isAnyone: boolean;
  /** Why, by protocol and port. */
  readonly ports: Map<string, readonly string[]>;
}

type Rules = Readonly<Record<Direction, Map<string, GuessedRule>>>;

class Peers {
  readonly remarks = new Map<string, string>();
  readonly #world: World;
  readonly #unselectable: Set<string>;
  readonly #selectors = new Map<Member, Selector | string>();

  constructor(world: World, unselectable: Set<string>) {
    this.#world = world;
    this.#unselectable = unselectable;
  }

  selectorOf(member: Member): Selector | undefined {
    const found = getOrMake(this.#selectors, member, () => this.#select(member));
    if (typeof found !== 'string') return found;
    this.#unselectable.add(found);
    return undefined;
  }

  #select({ pod, workload, selector }: Member): Selector | string {
    if (selector !== undefined) return { matchLabels: selector };
    const { cluster: known, inventory } = this.#world;
    const meaning = { known, inventory, domains: new Map<Address, string>(), internet: new Set<Address>() };
    const side = podsSide(meaning, pod, workload && { kind: 'workload', id: workload });
    return typeof side === 'string' ? side : side.selector;
  }

  /** Undefined where no rule can name the end. */
  of(end: GuessEnd, own: string): readonly object[] | undefined {
    if (end === 'anyone') return [];
    if (end === 'api server') return this.#apiServer();
    if (end === 'dns') return undefined;
    const podSelector = this.selectorOf(end);
    return podSelector && [podsIn(end.pod.namespace, podSelector, own)];
  }

  #apiServer(): readonly object[] {
    const remarks = apiServerRemarks(this.#world.inventory);
    for (const [cidr, remark] of remarks) this.remarks.set(cidr, remark);
    return [...remarks.keys()].map(cidr => ({ ipBlock: { cidr } }));
  }
}

function podsIn(namespace: string, podSelector: object, own: string): object {
  if (namespace === own) return { podSelector };
  return { namespaceSelector: { matchLabels: { [NAMESPACE_NAME_LABEL]: namespace } }, podSelector };
}

function allowing(
  { name, pod: { namespace } }: Member,
  selector: Selector,
  rules: Rules,
  names: Names,
): CommentedObject {
  const comments = new Map<string, readonly string[]>();
  const of = (direction: Direction) =>
    [...withoutCovered(rules[direction])].map(({ peers, isAnyone, ports }, at) => {
      const sorted = [...ports.keys()].sort();
      comments.set(`spec.${direction}.${at}`, [...new Set([...ports.values()].flat())]);
      const key = direction === 'ingress' ? 'from' : 'to';
      return { ...(!isAnyone && { [key]: peers }), ports: sorted.map(portObject) };
    });
  const [ingress, egress] = [of('ingress'), of('egress')];
  const spec = {
    podSelector: selector,
    policyTypes: ['Ingress', 'Egress'],
    ...(ingress.length > 0 && { ingress }),
    ...(egress.length > 0 && { egress }),
  };
  return { object: policy(names.free(namespace, `allow-${name}`), namespace, spec), comments };
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

function policy(name: string, namespace: string, spec: object): object {
  // In words, so that `kubectl apply` puts it in force where a policy of this name was audited.
  const annotations = { 'sluice.dev/enforcement': 'enforce' };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace, annotations },
    spec,
  };
}

const ISOLATION = 'suggested-default-deny';
const DNS = 'suggested-dns';

/** What isolates all pods of a namespace, and lets them look up names. */
function common(inventory: Inventory, namespace: string): CommentedObject[] {
  const closed = { podSelector: {}, policyTypes: ['Ingress', 'Egress'] };
  const { to, ports, from } = dnsOf(inventory, namespace);
  const egress = { podSelector: {}, policyTypes: ['Egress'], egress: [{ to: [to], ports }] };
  const why = new Map([['spec.egress.0', ['every pod looks up names']]]);
  const asked = from && {
    object: policy('suggested-dns-server', namespace, from),
    comments: new Map([['spec.ingress.0', ['every pod looks up names']]]),
  };
  return [
    { object: policy(ISOLATION, namespace, closed), comments: new Map() },
    { object: policy(DNS, namespace, egress), comments: why },
    ...(asked ? [asked] : []),
  ];
}

const KUBE_DNS = 'kube-system/kube-dns';

/** The cluster's DNS, by its Service where the manifests have it. */
function dnsOf({ services }: Inventory, own: string) {
  const service = services.get(KUBE_DNS);
  const selector: Labels = service?.selector ?? { 'k8s-app': 'kube-dns' };
  const podSelector = { matchLabels: selector };
  const ports = dnsPorts(service).map(([protocol, port]) => ({ protocol, port }));
  const server = { podSelector, policyTypes: ['Ingress'], ingress: [{ ports }] };
  return {
    to: podsIn(SYSTEM, podSelector, own),
    ports,
    ...(service && own === SYSTEM && { from: server }),
  };
}

function dnsPorts(service: Service | undefined): (readonly [string, number | string])[] {
  const found = service?.ports.filter(({ port }) => port === 53) ?? [];
  if (found.length > 0) return found.map(({ protocol, target }) => [protocol, target] as const);
  return [
    ['UDP', 53],
    ['TCP', 53],
  ];
}

/** `kubectl apply` would replace a policy that has the name. */
class Names {
  readonly #taken: Set<string>;

  constructor({ policies, audited = new Map() }: Cluster) {
    this.#taken = new Set(
      [...policies.keys(), ...audited.keys()].map(id => id.replace(/^NetworkPolicy /, '')),
    );
  }

  free(namespace: string, name: string): string {
    const base = name.replace(/[^-a-z0-9.]+/gi, '-').slice(0, 240);
    for (let n = 1; ; n++) {
      const found = n === 1 ? base : `${base}-${n}`;
      if (this.#taken.has(`${namespace}/${found}`)) continue;
      this.#taken.add(`${namespace}/${found}`);
      return found;
    }
  }
}
