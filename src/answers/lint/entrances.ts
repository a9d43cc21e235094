/** Warnings about Services, and about what leads clients from outside to them. */
import { firstOf } from '../../lib/text/firstof.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Policy, Rule } from '../../model/policy.ts';
import type { Problem } from '../../model/problem.ts';
import type { PodSelector } from '../../model/selector.ts';
import type { Backend, Service, ServicePort } from '../../model/service.ts';
import { isWorkloadKind } from '../../model/workload.ts';
import type { Candidate } from './candidates.ts';
import { type Facts, podsOf, warning, withLabels } from './facts.ts';
import { allows, targetOf } from './ports.ts';

/** A backend whose Service or port is not there, in a namespace of which Services are. */
export function missingService({ inventory }: Facts): readonly Problem[] {
  const mayMiss = namespacesOf(inventory);
  return inventory.entrances.flatMap(({ object, backends }) =>
    backends.flatMap(backend => {
      const message = missing(backend, inventory.services.get(backend.service), mayMiss);
      if (message === undefined) return [];
      return [warning('missing-service', object, backend.field, message, 'nobody outside is led to a pod')];
    }),
  );
}

/** Those that have Services, and nothing that would make more. */
function namespacesOf({ services, podMakers, workloads }: Inventory): ReadonlySet<string> {
  const makers = [...podMakers, ...[...workloads.values()].filter(({ kind }) => !isWorkloadKind(kind))];
  const making = new Set(makers.map(({ namespace }) => namespace));
  const having = [...services.values()].map(({ namespace }) => namespace);
  return new Set(having.filter(namespace => !making.has(namespace)));
}

function missing(
  { service: key, port, targetPort }: Backend,
  service: Service | undefined,
  mayMiss: ReadonlySet<string>,
): string | undefined {
  // An annotation of the Ingress says what is meant, for controllers of AWS.
  if (port === 'use-annotation') return undefined;
  if (service === undefined)
    return mayMiss.has(key.slice(0, key.indexOf('/')))
      ? `names Service ${key}, which does not exist`
      : undefined;
  if (service.type === 'ExternalName') return undefined;
  const has = (portOf: (of: ServicePort) => number | string) =>
    firstOf(service.ports, 5, of => (of.name === '' ? `${portOf(of)}` : `${portOf(of)} (${of.name})`));
  if (targetPort !== undefined && leadsElsewhere(service, targetPort))
    return `names port ${targetPort} of pods, and Service ${key} leads to ${has(({ target }) => target)}`;
  if (port === undefined || portsAt(service, port).length > 0) return undefined;
  return `names port ${port} of Service ${key}, which has ${has(each => each.port)}`;
}

/** A router looks among the endpoints, by the port of the pods or by the name of the Service's. */
function leadsElsewhere({ ports, selector }: Service, asked: number | string): boolean {
  const isKnown = ports.every(({ target }) => typeof asked === 'string' || typeof target === 'number');
  return (
    selector !== undefined && isKnown && !ports.some(({ name, target }) => name === asked || target === asked)
  );
}

/** All of a Service's ports, or the one of that number or name. */
function portsAt({ ports }: Service, port?: number | string): readonly ServicePort[] {
  if (port === undefined) return ports;
  return ports.filter(each => each.port === port || each.name === port);
}

/** A Service that selects nobody, although pods or workloads of its namespace are there. */
export function emptyService({ inventory, candidates }: Facts): readonly Problem[] {
  return [...inventory.services.values()].flatMap(service => {
    if (service.selector === undefined) return [];
    const selector = withLabels(service.namespace, service.selector);
    if (!candidates.selectsNone(selector) || candidates.makersFor(selector).length > 0) return [];
    const near = candidates.nearLabel(selector);
    const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
    const message = `selects none of the pods and workloads that are there${hint}`;
    return [
      warning(
        'empty-service',
        `Service ${service.key}`,
        'spec.selector',
        message,
        'nobody answers behind it',
      ),
    ];
  });
}

/** A way in from outside, to pods that policy closes to everybody outside. */
export function closedEntrance(facts: Facts): readonly Problem[] {
  const { services, entrances } = facts.inventory;
  const balancers = [...services.values()].filter(({ type }) => type === 'LoadBalancer');
  return [
    ...balancers.flatMap(service => {
      const closed = closedBehind(service, service.ports, isOutside, facts);
      if (closed === undefined) return [];
      return [closedAt(`Service ${service.key}`, 'spec.type', 'leads clients outside to', closed)];
    }),
    ...entrances.flatMap(({ object, backends }) => {
      for (const backend of backends) {
        const closed = closedBackend(backend, facts);
        if (closed !== undefined)
          return [closedAt(object, backend.field, `leads by Service ${backend.service} to`, closed)];
      }
      return [];
    }),
  ];
}

interface Closed {
  readonly pod: Candidate;
  readonly port: number;
  readonly by: Policy;
}

function closedAt(object: string, field: string, leads: string, { pod, port, by }: Closed): Problem {
  const message = `${leads} port ${port} of ${pod.id}, and no policy opens that to anybody outside`;
  const effect = `${by.id} selects it, so clients outside get no answer`;
  return warning('closed-entrance', object, field, message, effect);
}

/** Clients come from the pods of a controller, wherever that runs. */
function closedBackend(backend: Backend, facts: Facts): Closed | undefined {
  const service = facts.inventory.services.get(backend.service);
  if (service === undefined) return undefined;
  const mayBeController = (rule: Rule, policy: Policy) =>
    isOutside(rule) ||
    (rule.peers !== 'any' &&
      rule.peers.some(peer => peer.kind === 'pods' && !isOwn(peer.selector, policy, facts)));
  return closedBehind(service, backendPorts(service, backend), mayBeController, facts);
}

/** The ports of its Service that a backend means. */
export function backendPorts(service: Service, { port, targetPort, isUdp }: Backend): readonly ServicePort[] {
  const ofProtocol = portsAt(service, port).filter(
    ({ protocol }) => (protocol === 'UDP') === (isUdp ?? false),
  );
  if (targetPort === undefined) return ofProtocol;
  const meant = ofProtocol.filter(({ name, target }) => target === targetPort || name === targetPort);
  return meant.length > 0 ? meant : ofProtocol;
}

/** Whether a selector means only pods of the policy's own namespace, of which none seems to be a controller. */
function isOwn(selector: PodSelector, { subject }: Policy, { candidates }: Facts): boolean {
  const [of, own] = [selector.namespaces, subject.namespaces];
  if (of.kind !== 'name' || own.kind !== 'name' || of.name !== own.name) return false;
  const pods = candidates.selected(selector);
  return (
    pods.length > 0 && !pods.some(({ labels }) => Object.values(labels).some(text => CONTROLLER.test(text)))
  );
}

const CONTROLLER = /ingress|gateway|router|traefik|haproxy|nginx|kong|contour|envoy|istio/;

function isOutside({ peers }: Rule): boolean {
  return peers === 'any' || peers.some(({ kind }) => kind === 'network' || kind === 'nodes');
}

/** The first of the pods behind the ports, if all of them are closed to those that the rules must let in. */
function closedBehind(
  service: Service,
  ports: readonly ServicePort[],
  letsIn: (rule: Rule, policy: Policy) => boolean,
  facts: Facts,
): Closed | undefined {
  let first: Closed | undefined;
  for (const pod of podsOf(service, facts.candidates)) {
    const policies = facts.policies.filter(
      policy => policy.ingress !== undefined && facts.candidates.selects(policy.subject, pod),
    );
    for (const { protocol, ...port } of ports) {
      const target = targetOf({ ...port, protocol }, pod);
      if (target === undefined) continue;
      const by = closingPolicy(policies, rule => allows(rule, target, protocol, pod), letsIn);
      if (by === undefined) return undefined;
      first ??= { pod, port: target, by };
    }
  }
  return first;
}

/** A policy that isolates, where no rule of any policy lets somebody in at the port. */
function closingPolicy(
  policies: readonly Policy[],
  isAtPort: (rule: Rule) => boolean,
  letsIn: (rule: Rule, policy: Policy) => boolean,
): Policy | undefined {
  const isOpen = policies.some(policy =>
    (policy.ingress ?? []).some(rule => rule.action === 'accept' && isAtPort(rule) && letsIn(rule, policy)),
  );
  return isOpen ? undefined : policies.find(({ kind }) => kind === 'NetworkPolicy');
}
