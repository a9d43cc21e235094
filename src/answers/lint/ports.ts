/** Warnings about ports that policies name. */
import type { Direction, Policy, PortMatch, Protocol, Rule } from '../../model/policy.ts';
import type { NamedPort, PortRange } from '../../model/ports.ts';
import type { Problem } from '../../model/problem.ts';
import type { PodSelector } from '../../model/selector.ts';
import type { Service, ServicePort } from '../../model/service.ts';
import type { Candidate } from './candidates.ts';
import { directedRules, type Facts, MOST_OF_POLICY, podSelectorsOf, warning } from './facts.ts';

/**
 * N29, N30: a named port means the ports of that name in the destination's containers, and matches nothing if none has
 * it.
 */
export function portName(policy: Policy, { candidates }: Facts): readonly Problem[] {
  const found: Problem[] = [];
  for (const [direction, rule] of directedRules(policy))
    for (const port of portsOf(rule, 'named')) {
      if (found.length === MOST_OF_POLICY) return found;
      const destinations = destinationsOf(policy, direction, rule);
      // There are destinations, and none of them calls a port so.
      const isMissing =
        destinations?.some(each => candidates.selectsAny(each)) &&
        !destinations.some(each => candidates.selectsPort(each, port));
      if (isMissing) found.push(unknownName(policy, direction, rule, port));
    }
  return found;
}

function unknownName({ id }: Policy, direction: Direction, { path }: Rule, port: NamedPort): Problem {
  const { name, protocol } = port;
  const whose = direction === 'ingress' ? 'that the policy selects' : 'that the rule means';
  const text = `${protocol === undefined ? '' : `${protocol} `}"${name}"`;
  const message = `names port ${text}, and none of the pods and workloads ${whose} has it`;
  return warning('port-name', id, `spec.${path}`, message, 'the port matches nothing until one does');
}

function portsOf<K extends 'named' | 'range'>({ ports }: Rule, kind: K) {
  type Found = K extends 'named' ? NamedPort : PortRange;
  return ports === 'any' ? [] : (ports.filter(port => port.kind === kind) as Found[]);
}

/**
 * The pods that a rule's peers select. Absent if peers are not selectors of pods alone: a network may contain pods that
 * are in no manifest.
 */
function destinationsOf(policy: Policy, direction: Direction, { peers }: Rule): PodSelector[] | undefined {
  if (direction === 'ingress') return [policy.subject];
  if (peers === 'any') return undefined;
  const selectors = podSelectorsOf({ peers });
  return selectors.length === peers.length ? selectors : undefined;
}

/** N61: policy sees a packet after a Service's port became that of the pod. */
export function servicePort(policy: Policy, facts: Facts): readonly Problem[] {
  const found: Problem[] = [];
  const selected = (selectors: readonly PodSelector[]) =>
    selectors.flatMap(selector => facts.candidates.selected(selector));
  let subjects: readonly Candidate[] | undefined;
  for (const [direction, rule] of directedRules(policy)) {
    const ports = portsOf(rule, 'range').filter(({ first, last }) => first === last);
    if (ports.length === 0) continue;
    if (direction === 'ingress') subjects ??= selected([policy.subject]);
    const pods =
      direction === 'ingress' ? subjects! : selected(destinationsOf(policy, direction, rule) ?? []);
    for (const port of ports.slice(0, MOST_PORTS)) {
      const led = leadElsewhere(pods, rule, port, facts);
      if (led === undefined) continue;
      if (found.length === MOST_OF_POLICY) return found;
      found.push(ofService(policy, rule, port, led));
    }
  }
  return found;
}

/** A limit, because each is compared with those of all pods. */
const MOST_PORTS = 20;

interface Led {
  readonly service: Service;
  readonly target: number;
  readonly pod: Candidate;
}

/** A Service that leads from this port to another one of these pods, of which none listens on the port itself. */
function leadElsewhere(
  pods: readonly Candidate[],
  rule: Rule,
  port: PortRange,
  { services }: Facts,
): Led | undefined {
  const isOpened = pods.some(
    pod => declares(pod, port) || [...services.get(pod)].some(service => leadsTo(service, port, pod)),
  );
  if (isOpened) return undefined;
  for (const pod of pods)
    for (const service of services.get(pod))
      for (const its of service.ports) {
        const target = targetOf(its, pod);
        if (its.port !== port.first || its.protocol !== port.protocol || target === undefined) continue;
        if (!allows(rule, target, its.protocol, pod)) return { service, target, pod };
      }
  return undefined;
}

function declares({ ports, unnamedPorts = [] }: Candidate, { first, protocol }: PortRange): boolean {
  return [...ports, ...unnamedPorts].some(each => each.port === first && each.protocol === protocol);
}

function leadsTo(service: Service, { first, protocol }: PortRange, pod: Candidate): boolean {
  return service.ports.some(port => port.protocol === protocol && targetOf(port, pod) === first);
}

/** The pod's port to which a Service's port leads; undefined where no port of it has the name. */
export function targetOf({ target, protocol }: ServicePort, { ports }: Candidate): number | undefined {
  if (typeof target === 'number') return target;
  return ports.find(each => each.name === target && each.protocol === protocol)?.port;
}

/** Whether a port of the rule matches this one of the pod. */
export function allows(
  { ports }: Pick<Rule, 'ports'>,
  number: number,
  protocol: Protocol,
  pod: Candidate,
): boolean {
  if (ports === 'any') return true;
  return ports.some(port => {
    if (port.protocol !== undefined && port.protocol !== protocol) return false;
    if (port.kind === 'protocol') return true;
    if (port.kind === 'range') return port.first <= number && number <= port.last;
    return pod.ports.some(
      each => each.name === port.name && each.port === number && each.protocol === protocol,
    );
  });
}

function ofService(policy: Policy, rule: Rule, port: PortRange, { service, target, pod }: Led): Problem {
  const { protocol, first } = port;
  const name = pod.ports.find(each => each.port === target && each.protocol === protocol)?.name;
  const write = name === undefined ? target : `${target} or "${name}"`;
  const message = `names port ${protocol} ${first}, which is the port of Service ${service.key}: ${pod.id} listens on ${target}`;
  const effect = `policy sees the port of the pod, so the port matches nothing: write ${write}`;
  const of = (field: string) => warning('service-port', policy.id, field, message, effect);
  if (policy.kind !== 'NetworkPolicy') return of(`spec.${rule.path}`);
  const field = `spec.${rule.path}.ports[${(rule.ports as readonly PortMatch[]).indexOf(port)}].port`;
  return { ...of(field), fix: { field, set: target } };
}
