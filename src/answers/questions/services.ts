/** Where a Service sends a connection: the endpoints that would answer, and the port that they listen on. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { didYouMean } from '../../lib/text/didyoumean.ts';
import { type Address, familyOf } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import type { Pod } from '../../model/cluster.ts';
import type { Flow, FlowProtocol } from '../../model/flow.ts';
import type { Inventory } from '../../model/inventory.ts';
import { hasLabels, type Labels } from '../../model/labels.ts';
import type { EndpointSlice, Service, ServiceKey, ServicePort } from '../../model/service.ts';
import { topWorkloads } from '../../model/workloadof.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';
import { API_SERVER, apiServerEndpoints, apiServerService, unknownApiServer } from './apiserver.ts';
import { type NamedEndpoint, parseEndpoint } from './endpoint.ts';
import {
  type ClusterView,
  namedPort,
  podOf,
  type ResolvedEndpoint,
  type Target,
  type Targets,
  type Translation,
} from './place.ts';
import { absent, elsewhere, placesOf, podEndpoints, templateEndpoints } from './places.ts';

/** Throws FlowTextError where there is none of that name. */
export function serviceNamed(
  view: ClusterView,
  { namespace, name }: { readonly namespace?: string; readonly name: string },
): Service {
  const { inventory, knowsInventory, defaultNamespace } = view;
  const key: ServiceKey = `${namespace ?? defaultNamespace}/${name}`;
  const service = inventory.services.get(key);
  if (service !== undefined) return service;
  if (key === API_SERVER) return apiServerService(inventory);
  if (!knowsInventory && view.mayNotList === undefined)
    throw new FlowTextError(
      `the agent knows no Services: name a pod behind ${key}, or ask the cluster (--kubeconfig) or --manifests`,
    );
  const keys = [...inventory.services.keys()];
  const close = didYouMean(key, keys);
  const hint = elsewhere(keys, name) || (close === undefined ? '' : `; did you mean ${close}?`);
  throw new FlowTextError(absent(view, 'Service', key, hint, key.split('/')[0]));
}

/** Throws FlowTextError where the Service has no such port. `aliases` are the Services whose other name it is. */
export function followService(
  view: ClusterView,
  service: Service,
  end: NamedEndpoint,
  protocol: FlowProtocol,
  aliases: readonly ServiceKey[] = [],
): Targets {
  if (service.type === 'ExternalName')
    return followName(view, service, end, protocol, [...aliases, service.key]);
  if (service.headless) return followHeadless(view, service, end, protocol);
  const { port } = portOf([service], end, protocol);
  if (service.key === API_SERVER && apiServerEndpoints(view.inventory).size === 0)
    return unknownApiServer(view, service, protocol);
  const found = answered(service, endpointsOf(view, service, port), port);
  return service.isNodeLocal ? translated(found, { kind: 'local-service' }, localNote(service)) : found;
}

function translated(found: Targets, translation: Translation, note: string): Targets {
  return {
    ...found,
    targets: found.targets.map(target => ({ ...target, translation })),
    notes: [...found.notes, note],
  };
}

function localNote({ key }: Service): string {
  return `Service ${key} has internalTrafficPolicy Local: a client reaches only endpoints on its own node`;
}

/** The ports of a headless Service have no effect: a connection to one of its pods has the port that the client uses. */
function followHeadless(
  view: ClusterView,
  service: Service,
  end: NamedEndpoint,
  protocol: FlowProtocol,
): Targets {
  if (!/^\d+$/.test(end.port ?? '') && service.ports.length > 0) {
    const { port } = portOf([service], end, protocol);
    return answered(service, endpointsOf(view, service, port), port);
  }
  const number = Number(end.port);
  if (!Number.isInteger(number) || number < 1 || number > 65535)
    throw new FlowTextError(
      `"${end.text}": the headless Service ${service.key} names no ports: give a number`,
    );
  const port = { name: '', protocol: 'TCP', port: number, target: number } as const;
  const targets = endpointsOf(view, service, wordFor(service, number, protocol) ?? port);
  return answered(
    service,
    targets.map(target => ({ ...target, protocol, port: number })),
    port,
  );
}

/** The port of a headless Service under which its endpoints are written down; any serves to find them. */
function wordFor({ ports }: Service, number: number, protocol: FlowProtocol): ServicePort | undefined {
  return ports.find(each => each.port === number && each.protocol === protocol) ?? ports[0];
}

/** Keeps the one endpoint of a Service that a name such as `db-0.db.shop.svc` means. */
export function atEndpoint(found: Targets, { namespace }: Service, endpoint: string, text: string): Targets {
  const template = `${namespace}/sts/${endpoint.replace(/-\d+$/, '')}`;
  const targets = found.targets
    .filter(({ endpoint: { name } }) => [`${namespace}/${endpoint}`, template].includes(name))
    .map((target): Target => ({ ...target, isOneEndpoint: true }));
  if (targets.length > 0 || found.targets.length === 0) return { ...found, targets };
  const others = [...new Set(found.targets.map(({ endpoint }) => endpoint.name))].slice(0, 3).join(', ');
  throw new FlowTextError(`"${text}": no pod behind the Service is called ${endpoint} (${others})`);
}

/** `2 endpoints, on ports 8080 and 9090`. */
function reachedText(targets: readonly Target[]): string {
  const ports = [...new Set(targets.map(({ port }) => port))].sort((a = 0, b = 0) => a - b);
  const places = new Set(targets.map(({ endpoint }) => endpoint.name)).size;
  const on = ports.length > 3 ? 'several ports' : `port${ports.length > 1 ? 's' : ''} ${ports.join(' and ')}`;
  return `${places} endpoint${places === 1 ? '' : 's'}, on ${on}`;
}

function answered(service: Service, targets: readonly Target[], { port }: ServicePort): Targets {
  const how = service.headless
    ? 'is headless: its name leads to its pods themselves'
    : `leads to ${reachedText(targets)}`;
  const door = service.headless ? '' : `port ${port} of `;
  if (targets.length > 0) return { targets, notes: [`${door}Service ${service.key} ${how}`] };
  const undecided = `Service ${service.key} has no endpoint that is ready on port ${port}: connections get no answer, whatever policy says`;
  return { targets, notes: [], undecided };
}

/** A name of the DNS instead of endpoints; it may be one of this cluster. */
function followName(
  view: ClusterView,
  service: Service,
  end: NamedEndpoint,
  protocol: FlowProtocol,
  aliases: readonly ServiceKey[],
): Targets {
  const name = service.externalName ?? '';
  const note = `Service ${service.key} is another name of ${name}`;
  const meant = parseEndpoint(name);
  if (meant.name.kind === 'service') {
    const behind = serviceNamed(view, meant.name);
    const followed = aliases.includes(behind.key)
      ? { targets: [], notes: [], undecided: leadsBack(behind) }
      : followService(view, behind, end, protocol, aliases);
    return { ...followed, notes: [note, ...followed.notes] };
  }
  const number = Number(end.port);
  if (!Number.isInteger(number) || number < 1 || number > 65535)
    throw new FlowTextError(`"${end.text}": ${name} has no ports by name: give a number`);
  const targets = placesOf(view, meant.name).map(endpoint => ({ endpoint, protocol, port: number }));
  return { targets, notes: [note] };
}

function leadsBack({ key }: Service): string {
  return `Service ${key} is another name of itself, by others: nobody can resolve it`;
}

interface FoundPort {
  readonly service: Service;
  readonly port: ServicePort;
}

/** The port of one of these Services by number or name; their only port if the question names none. */
function findPort(
  services: readonly Service[],
  { port }: NamedEndpoint,
  protocol: FlowProtocol,
): FoundPort | undefined {
  const fitting = services.flatMap(service =>
    service.ports
      .filter(each => each.protocol === protocol)
      .map((each): FoundPort => ({ service, port: each })),
  );
  const only = port === undefined && fitting.length === 1 ? fitting[0] : undefined;
  const isAsked = ({ port: each }: FoundPort) =>
    String(each.port) === port || (each.name !== '' && each.name === port);
  return only ?? fitting.find(isAsked);
}

function portOf(services: readonly Service[], end: NamedEndpoint, protocol: FlowProtocol): FoundPort {
  const found = findPort(services, end, protocol);
  if (found !== undefined) return found;
  const { text, port } = end;
  const keys = services.map(({ key }) => `Service ${key}`);
  const none = keys.length === 1 ? `${keys[0]} has no` : `none of ${keys.join(', ')} has`;
  const what = port === undefined ? 'names no port' : `${none} port ${port}/${protocol}`;
  throw new FlowTextError(`"${text}": ${what} (${services.map(portsText).join('; ')})`);
}

function portsText({ key, ports }: Service): string {
  const all = ports.map(each => `${each.port}/${each.protocol}${each.name && ` (${each.name})`}`).join(', ');
  return `ports of Service ${key}: ${all || 'none'}`;
}

/** The endpoints in EndpointSlices; without these, the pods that the selector selects. */
export function endpointsOf(view: ClusterView, service: Service, port: ServicePort): Target[] {
  const all = [...view.inventory.slices.values()].filter(slice => slice.service === service.key);
  const own = all.filter(({ isMirrored }) => !isMirrored);
  const slices = own.length > 0 ? own : all;
  const targets = slices.length > 0 ? fromSlices(view, slices, port) : fromSelector(view, service, port);
  return targets.map(target => ({ ...target, service }));
}

interface FromSlices {
  readonly endpoint: ResolvedEndpoint;
  readonly addresses: Address[];
  readonly port: number;
  readonly node: string | undefined;
}

/** One target for a pod that slices of both families have. */
function fromSlices({ cluster }: ClusterView, slices: readonly EndpointSlice[], port: ServicePort): Target[] {
  const owners = addressOwners(cluster);
  const found = new Map<string, FromSlices>();
  for (const slice of slices)
    for (const { port: number } of slice.ports.filter(
      each => each.name === port.name && each.protocol === port.protocol,
    ))
      for (const { addresses, ready, pod, node } of slice.endpoints) {
        const address = addresses[0];
        if (!ready || address === undefined) continue;
        const owner = owners.get(address);
        const name = owner?.key ?? pod ?? address;
        const isOnNode = pod !== undefined && cluster.pods.get(pod)?.hostNetwork === true;
        const endpoint: ResolvedEndpoint = { name, addresses: [], ...(owner && { pod: owner }), isOnNode };
        const target = () => ({ endpoint, addresses: [], port: number, node });
        getOrMake(found, `${name} ${number}`, target).addresses.push(address);
      }
  return [...found.values()].map(({ endpoint, addresses, port: number, node }) => ({
    endpoint: { ...endpoint, addresses },
    protocol: port.protocol,
    port: number,
    ...(node !== undefined && { node }),
  }));
}

function fromSelector(view: ClusterView, { namespace, selector }: Service, port: ServicePort): Target[] {
  if (selector === undefined) return [];
  return selected(view, namespace, selector).flatMap(endpoint => {
    const number = targetIn(podOf(endpoint), port);
    return number === undefined ? [] : [{ endpoint, protocol: port.protocol, port: number }];
  });
}

/** The ports of Services that select the pod and lead to this port of it. */
export function servicePortsTo(pod: Pod, { protocol, port }: Flow, { services }: Inventory): number[] {
  const own = [...services.values()].filter(
    ({ namespace, selector }) =>
      selector !== undefined && namespace === pod.namespace && hasLabels(pod.labels, selector),
  );
  return own
    .flatMap(({ headless, ports }) => (headless ? [] : ports))
    .filter(each => each.protocol === protocol && targetIn(pod, each) === port)
    .map(each => each.port);
}

function targetIn(pod: Pod | undefined, { target, protocol }: ServicePort): number | undefined {
  return typeof target === 'number' ? target : namedPort(pod, target, protocol);
}

/** Pods that have the labels; where there are none, those that workloads would make. */
function selected(view: ClusterView, namespace: string, selector: Labels): ResolvedEndpoint[] {
  const fits = (item: { namespace: string; labels: Labels }) =>
    item.namespace === namespace && hasLabels(item.labels, selector);
  const pods = [...view.cluster.pods.values()].filter(pod => !pod.finished && fits(pod));
  if (pods.length > 0) return pods.flatMap(pod => podEndpoints(view, pod));
  return topWorkloads(view.inventory)
    .filter(fits)
    .flatMap(workload => templateEndpoints(view, workload));
}

/**
 * What answers at these addresses, if Services have them. Several Services may share one, each with ports of its own.
 * Throws FlowTextError where none of them has the port, unless `node` has the address too: then the port is the node's.
 */
export function serviceTargets(
  view: ClusterView,
  addresses: readonly Address[],
  node: string | undefined,
  end: NamedEndpoint,
  protocol: FlowProtocol,
): Targets | undefined {
  const isOneOf = (list: readonly Address[] = []) => list.some(address => addresses.includes(address));
  const services = [...view.inventory.services.values()].filter(
    ({ clusterIps, externalIps, proxiedIps }) =>
      isOneOf(clusterIps) || isOneOf(externalIps) || isOneOf(proxiedIps),
  );
  if (services.length === 0) return undefined;
  const isOfNode = node !== undefined && (end.port === undefined || !findPort(services, end, protocol));
  if (isOfNode) return undefined;
  const { service, port } = portOf(services, end, protocol);
  if (isOneOf(service.clusterIps)) return followService(view, service, end, protocol);
  const found = answered(service, endpointsOf(view, service, port), port);
  const proxied = service.proxiedIps?.find(address => addresses.includes(address));
  if (proxied !== undefined && !isOneOf(service.externalIps))
    return byLoadBalancer(found, service, proxied, port.port);
  const { keepsSource } = service;
  const translation = {
    kind: 'external-address',
    ...(node && { node }),
    ...(keepsSource && { keepsSource }),
  };
  return translated(
    found,
    translation as Translation,
    keepsSource ? keptNote(service) : externalNote(service),
  );
}

/** If the pod is on another node than the one that was dialled, that node replaces the client's address by its own. */
function externalNote({ key }: Service): string {
  return `an external address of Service ${key}: connections are judged after kube-proxy's translation: a pod on the node that was dialled sees the client, pods on other nodes see that node`;
}

function keptNote({ key }: Service): string {
  return `Service ${key} has externalTrafficPolicy Local: a client outside reaches only its pods on the node that it dials, and they see the client's address`;
}

function byLoadBalancer(found: Targets, { key }: Service, address: Address, port: number): Targets {
  const note = `${address} is a load balancer of Service ${key} that kube-proxy leaves alone (ipMode: Proxy): egress is judged towards that address; the pods behind see the load balancer, a node, or the client`;
  return translated(found, { kind: 'load-balancer', address, port }, note);
}

/**
 * Where the port is one that a Service took on every node, in the families of its ClusterIPs; `node` is the one that is
 * dialled.
 */
export function nodePortTargets(
  view: ClusterView,
  addresses: readonly Address[],
  node: string,
  end: NamedEndpoint,
  protocol: FlowProtocol,
): Targets | undefined {
  const port = Number(end.port);
  for (const service of view.inventory.services.values()) {
    const taken = service.ports.find(each => each.nodePort === port && each.protocol === protocol);
    if (taken === undefined || !hasFamilyOf(service, addresses)) continue;
    const { keepsSource } = service;
    const found = answered(service, endpointsOf(view, service, taken), taken);
    const translation: Translation = {
      kind: 'node-port',
      node,
      addresses,
      port,
      ...(keepsSource && { keepsSource }),
    };
    return translated(found, translation, nodePortNote(node, port, service));
  }
  return undefined;
}

/** The ClusterIPs of manifests are not known: the API server chooses them. */
function hasFamilyOf({ clusterIps }: Service, dialled: readonly Address[]): boolean {
  if (clusterIps.length === 0) return true;
  return dialled.some(address => clusterIps.some(ip => familyOf(ip) === familyOf(address)));
}

function nodePortNote(node: string, port: number, service: Service): string {
  const { key, keepsSource } = service;
  const clients = keepsSource
    ? `as externalTrafficPolicy is Local, others than pods of ${node} reach only pods there, which see the client's address`
    : `pods on other nodes than ${node} see ${node}`;
  return `port ${port} of node ${node} is Service ${key}: ${asPodBehind(node)}; ${clients}`;
}

/** How connections to a port of a node are judged. */
export function asPodBehind(node: string): string {
  return `judged as the pod behind it; the egress of pods on other nodes is judged towards ${node} itself`;
}
