/**
 * Ways from outside to pods. Through an ingress controller they are two connections, of which policy judges each: the controller accepts
 * one from a client, and opens another to a pod behind the Service that an Ingress or a route names. A load balancer is one.
 */
import { getOrMake } from '../../lib/collections/getormake.ts';
import { addressToInt, type Family, familyOf } from '../../model/address.ts';
import { NAMESPACE_NAME_LABEL } from '../../model/cluster.ts';
import { hasLabels, type Labels } from '../../model/labels.ts';
import type { Protocol } from '../../model/policy.ts';
import type { Backend, Entrance, Service } from '../../model/service.ts';
import { topWorkloads, workloadOf } from '../../model/workloadof.ts';
import { PolicyIndex } from '../../semantics/policyindex.ts';
import { backendPorts } from '../lint/entrances.ts';
import {
  type Answer,
  decisiveOf,
  judgeAll,
  reasonOf,
  stricter,
  type Verdict,
  verdictOfCase,
  verdictsByFamily,
} from '../questions/answer.ts';
import { type NamedEndpoint, parseEndpoint, workloadText } from '../questions/endpoint.ts';
import type { JudgedFlow } from '../questions/judge.ts';
import { type ClusterView, podOf, type ResolvedEndpoint, type Target } from '../questions/place.ts';
import { placesOf } from '../questions/places.ts';
import { contains, INTERNET } from '../questions/ranges.ts';
import { endpointsOf } from '../questions/services.ts';
import { assumedText, type Controller, Controllers } from './controllers.ts';
import { isGranted } from './granted.ts';

/** One of the connections. */
export interface EntrywayStep {
  readonly from: string;
  readonly to: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** The stricter one of several pods, addresses and families. */
  readonly verdict: Verdict;
  readonly families: Readonly<Partial<Record<Family, Verdict>>>;
  /** Some connections are allowed, and not all: those from some addresses, or to some pods. */
  readonly isPartial?: true;
  readonly reason: string;
}

export interface Entryway {
  /** `Ingress shop/web`. */
  readonly object: string;
  readonly field: string;
  /** `Deployment ingress-nginx/controller`; of assumed pods the name of the controller. Absent for a load balancer. */
  readonly controller?: string;
  readonly isAssumed?: true;
  /** `Deployment shop/web`. */
  readonly to: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly verdict: Verdict;
  /** From outside to the controller, and from there to the pods; of a load balancer one, to the pods. */
  readonly steps: readonly [EntrywayStep, ...EntrywayStep[]];
  /** The pods of both, for selectors. */
  readonly pods: readonly { readonly namespace: string; readonly labels: Labels }[];
  /** The pods of the destination, as questions name them. */
  readonly endpoints: readonly string[];
}

export interface Entryways {
  readonly ways: readonly Entryway[];
  /** Where it is not known who serves an Ingress or a route, or what is assumed of it. */
  readonly doubts: readonly Doubt[];
}

interface Doubt {
  readonly object: string;
  readonly text: string;
  readonly pods: Entryway['pods'];
  readonly endpoints: readonly string[];
}

export const NO_ENTRYWAYS: Entryways = { ways: [], doubts: [] };

/** Whether clients outside are meant: all of them, or one with a public address. */
export function isFromOutside({ name }: NamedEndpoint): boolean {
  if (name.kind !== 'address') return name.kind === 'internet';
  return contains(INTERNET, familyOf(name.address), addressToInt(name.address));
}

/** The ways of a question from outside to what it asks about. */
export function entrywaysOfAnswer(view: ClusterView, answer: Answer, named: readonly string[]): Entryways {
  const from = parseEndpoint(answer.question.from);
  if (!isFromOutside(from) || from.name.kind === 'service') return NO_ENTRYWAYS;
  return entrywaysTo(entrywaysOf(view, placesOf(view, from.name), named), answer);
}

/** Those of a matrix. */
export function entrywaysOfMatrix(view: ClusterView, named: readonly string[] = []): Entryways {
  const found = entrywaysFromInternet(view, named);
  return { ...found, ways: [...found.ways, ...waysByBalancers(view, found)] };
}

/** Those through controllers. */
export function entrywaysFromInternet(view: ClusterView, named: readonly string[] = []): Entryways {
  return entrywaysOf(view, placesOf(view, { kind: 'internet' }), named);
}

/** Those by load balancers, but for the pods of controllers, which begin others. */
function waysByBalancers(view: ClusterView, { ways: others }: Entryways): readonly Entryway[] {
  const sources = placesOf(view, { kind: 'internet' });
  const controllers = new Set(others.map(({ controller }) => controller));
  const nameOf = workloadNamer(view);
  const indexed = { ...view, index: new PolicyIndex(view.cluster.policies.values()) };
  const balancers = [...view.inventory.services.values()].filter(({ type }) => type === 'LoadBalancer');
  return balancers.flatMap(service => {
    const targets = service.ports.flatMap(port => endpointsOf(view, service, port));
    const { cases } = judgeAll(indexed, sources, { targets, notes: [] });
    return [...byWorkload(targets, nameOf).values()].flatMap(({ to, some }): Entryway[] => {
      const keys = new Set(some.map(keyOf));
      const own = cases.filter(each => keys.has(keyOf(each.to)));
      if (own.length === 0 || controllers.has(to)) return [];
      const { protocol, port = 0 } = some[0]!;
      const ends = { to, protocol: protocol as Protocol, port };
      const step = stepOf({ ...ends, from: sources[0]!.name }, own);
      const common = { object: `Service ${service.key}`, field: 'spec.type', ...ends };
      return [{ ...common, verdict: step.verdict, steps: [step], ...endsOf(some) }];
    });
  });
}

function endsOf(targets: readonly Target[]): Pick<Entryway, 'pods' | 'endpoints'> {
  return {
    pods: targets.flatMap(({ endpoint }) => podOf(endpoint) ?? []),
    endpoints: targets.map(({ endpoint }) => endpoint.name),
  };
}

/** From `sources`, through the controllers that are named or known. Throws FlowTextError where a name is nobody's. */
function entrywaysOf(
  view: ClusterView,
  sources: readonly ResolvedEndpoint[],
  named: readonly string[],
): Entryways {
  const led = ledTo(view);
  if (led.length === 0) return NO_ENTRYWAYS;
  const controllers = new Controllers(view, named);
  const doubts: Doubt[] = [];
  const served = new Map<Controller, Led[]>();
  for (const each of led) {
    const { object } = each.entrance;
    const doubt = (text: string) => doubts.push({ object, text, ...endsOf(each.targets) });
    const serving = controllers.serving(each.entrance);
    if ('unknown' in serving) doubt(serving.unknown);
    else
      for (const controller of serving.controllers) {
        getOrMake(served, controller, () => []).push(each);
        if (controller.isAssumed) doubt(assumedText(controller));
      }
  }
  const ways = [...served].flatMap(([controller, some]) => waysThrough(view, sources, controller, some));
  return { ways, doubts };
}

// What an Ingress or a route leads to.

interface Led {
  readonly entrance: Entrance;
  readonly backend: Backend;
  readonly targets: readonly Target[];
}

function ledTo(view: ClusterView): readonly Led[] {
  const { entrances, services, routeGrants } = view.inventory;
  const known = new Map<string, readonly Target[]>();
  const targetsOf = (service: Service, backend: Backend) =>
    backendPorts(service, backend).flatMap(port =>
      getOrMake(known, JSON.stringify([service.key, port]), () => endpointsOf(view, service, port)),
    );
  return entrances.flatMap(entrance =>
    entrance.backends.flatMap(backend => {
      const service = services.get(backend.service);
      if (service === undefined || service.type === 'ExternalName' || !isGranted(backend, routeGrants))
        return [];
      const targets = targetsOf(service, backend);
      return targets.length === 0 ? [] : [{ entrance, backend, targets }];
    }),
  );
}

// Both steps, judged.

function waysThrough(
  known: ClusterView,
  sources: readonly ResolvedEndpoint[],
  controller: Controller,
  led: readonly Led[],
): Entryway[] {
  const view = withItsNamespace(known, controller);
  const targets = new Map(led.flatMap(each => each.targets.map(target => [keyOf(target), target] as const)));
  const { cases } = judgeAll(view, controller.places, { targets: [...targets.values()], notes: [] });
  const judged = new Map<string, JudgedFlow[]>();
  for (const each of cases) getOrMake(judged, keyOf(each.to), () => []).push(each);
  const first = firstStep(view, sources, controller);
  const nameOf = workloadNamer(view);
  return led.flatMap(({ entrance: { object }, backend: { field }, targets }) =>
    [...byWorkload(targets, nameOf).values()].flatMap(({ to, some }): Entryway[] => {
      const own = some.flatMap(target => judged.get(keyOf(target)) ?? []);
      if (own.length === 0 || first === undefined) return [];
      const { protocol, port = 0 } = some[0]!;
      const ends = { from: controller.name, to, protocol: protocol as Protocol, port };
      const second = stepOf(ends, own, controller);
      return [
        {
          ...{ object, field, to, protocol: ends.protocol, port },
          controller: controller.name,
          ...(controller.isAssumed && { isAssumed: true }),
          verdict: stricter(first.verdict, second.verdict),
          steps: [first, second],
          pods: [...controller.places, ...some.map(({ endpoint }) => endpoint)].flatMap(
            place => podOf(place) ?? [],
          ),
          endpoints: some.map(({ endpoint }) => endpoint.name),
        },
      ];
    }),
  );
}

function keyOf({ endpoint, protocol, port }: Target): string {
  return `${endpoint.name} ${port}/${protocol}`;
}

/** `Deployment shop/web`, of its pods and of those that its template would make. */
function workloadNamer({ inventory }: ClusterView): (target: Target) => string {
  const templates = new Map(
    topWorkloads(inventory).map(each => [workloadText(each.kind, each.namespace, each.name), each.id]),
  );
  return ({ endpoint: { name, pod } }) =>
    pod === undefined ? (templates.get(name as never) ?? name) : workloadOf(inventory, pod).id;
}

function byWorkload(targets: readonly Target[], nameOf: (target: Target) => string) {
  const found = new Map<string, { readonly to: string; readonly some: Target[] }>();
  for (const target of targets) {
    const to = nameOf(target);
    getOrMake(found, `${to} ${target.port}/${target.protocol}`, () => ({ to, some: [] })).some.push(target);
  }
  return found;
}

function stepOf(
  ends: Pick<EntrywayStep, 'from' | 'to' | 'protocol' | 'port'>,
  cases: readonly JudgedFlow[],
  assumed?: Controller,
): EntrywayStep {
  const decisive = decisiveOf(cases)!;
  const verdict = verdictOfCase(decisive);
  const reason = reasonOf(decisive);
  const isPartial = verdict !== 'allow' && cases.some(each => verdictOfCase(each) === 'allow');
  return {
    ...ends,
    verdict,
    families: verdictsByFamily(cases),
    ...(isPartial && { isPartial }),
    reason: assumed?.isAssumed ? reason.replaceAll(assumed.places[0]!.name, assumed.name) : reason,
  };
}

/** With the labels that the namespace of assumed pods always has, where there is no object of it. */
function withItsNamespace(view: ClusterView, { isAssumed, known }: Controller): ClusterView {
  const { cluster } = view;
  const [name = ''] = known?.namespaces ?? [];
  if (!isAssumed || known?.namespaceLabels === undefined || cluster.namespaces.has(name)) return view;
  const namespace = { name, labels: { ...known.namespaceLabels, [NAMESPACE_NAME_LABEL]: name } };
  return { ...view, cluster: { ...cluster, namespaces: new Map(cluster.namespaces).set(name, namespace) } };
}

// The ports by which clients reach the controller.

/** By the port that lets most in: a controller that is closed on 80 may be open on 443. Absent where it has no address. */
function firstStep(
  view: ClusterView,
  sources: readonly ResolvedEndpoint[],
  controller: Controller,
): EntrywayStep | undefined {
  const { name, places } = controller;
  const doors = places.flatMap(endpoint =>
    doorsOf(view, endpoint).map((port): Target => ({ endpoint, protocol: 'TCP', port })),
  );
  const { cases } = judgeAll(view, sources, { targets: doors, notes: [] });
  const steps = [...new Set(doors.map(({ port = 0 }) => port))].flatMap(port => {
    const own = cases.filter(each => each.to.port === port);
    const from = sources[0]!.name;
    return own.length === 0 ? [] : [stepOf({ from, to: name, protocol: 'TCP', port }, own, controller)];
  });
  return steps.sort((a, b) => rankOf(a) - rankOf(b))[0];
}

function rankOf({ verdict, isPartial }: EntrywayStep): number {
  return ['allow', 'undecided', 'deny'].indexOf(verdict) - (isPartial ? 0.5 : 0);
}

const USUAL_DOORS: readonly number[] = [80, 443];

/** Where Services lead clients from outside to it; else its host ports, or what is usual. */
function doorsOf(view: ClusterView, endpoint: ResolvedEndpoint): readonly number[] {
  const pod = podOf(endpoint);
  if (pod === undefined) return USUAL_DOORS;
  const { services, hostPorts } = view.inventory;
  const own = [...services.values()].filter(
    ({ namespace, selector, type }) =>
      (type === 'LoadBalancer' || type === 'NodePort') &&
      selector !== undefined &&
      namespace === pod.namespace &&
      hasLabels(pod.labels, selector),
  );
  const led = own
    .flatMap(({ ports }) => ports)
    .filter(({ protocol }) => protocol === 'TCP')
    .flatMap(({ target }) =>
      typeof target === 'number'
        ? target
        : pod.ports.filter(({ name }) => name === target).map(each => each.port),
    );
  if (led.length > 0) return [...new Set(led)];
  const ofHost = (hostPorts.get(pod.key) ?? []).filter(({ protocol }) => protocol === 'TCP');
  return ofHost.length > 0 ? ofHost.map(({ port }) => port) : USUAL_DOORS;
}

// What is shown of them.

/** Those to what a question is about: at its port, or if none is, at other ports of it. */
function entrywaysTo({ ways, doubts }: Entryways, { cases }: Answer): Entryways {
  const asked = new Set(cases.map(({ to }) => to.endpoint.name));
  const isAsked = ({ endpoints }: { readonly endpoints: readonly string[] }) =>
    endpoints.some(name => asked.has(name));
  const found = ways.filter(isAsked);
  const atPort = found.filter(way =>
    cases.some(({ to }) => to.port === way.port && to.protocol === way.protocol),
  );
  return { ways: atPort.length > 0 ? atPort : found, doubts: doubts.filter(isAsked) };
}
