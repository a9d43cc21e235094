/** The ends of a trace as people name them: of a name that means several pods one is traced, which a note says. */

import { type NamedEndpoint, parseEndpoint } from '../answers/questions/endpoint.ts';
import { type ClusterView, podOf, type ResolvedEndpoint, type Target } from '../answers/questions/place.ts';
import { placesOf } from '../answers/questions/places.ts';
import { shortNameOf, targetsOf } from '../answers/questions/targets.ts';
import { plural } from '../lib/text/plural.ts';
import type { Address } from '../model/address.ts';
import { addressesOfNode, type Pod } from '../model/cluster.ts';
import { hasLabels, type Labels } from '../model/labels.ts';
import { FlowTextError } from '../semantics/flowtext.ts';
import { orCommandError } from './orcommanderror.ts';
import { writeNotes } from './sources/readstate.ts';

export interface TracedEnd {
  /** As the walk through the rules takes it: a pod with its namespace, or an address. */
  readonly text: string;
  /** The node that judges it, if it is one of the cluster. */
  readonly node?: string;
  /** Which pod is traced, if the name means others too. */
  readonly note?: string;
}

/** Both ends; which pods are traced is noted. Throws CommandError. */
export function tracedEnds(view: ClusterView, from: string, to: string): readonly [TracedEnd, TracedEnd] {
  const ends = orCommandError(() => [tracedEnd(view, from), tracedEnd(view, to)] as const);
  writeNotes(ends.flatMap(({ note }) => note ?? []));
  return ends;
}

/** Throws FlowTextError if nothing has that name, or no pod of it runs. */
export function tracedEnd(view: ClusterView, text: string): TracedEnd {
  const end = parseEndpoint(text);
  const { name } = end;
  if (name.kind === 'service' || shortNameOf(view, end) !== undefined) return behindService(view, end);
  if (name.kind === 'internet')
    throw new FlowTextError(`"${text}": the rules are walked for one address: name one`);
  if (name.kind === 'labels')
    return onePod(view, end, podsWith(view, name.namespace ?? view.defaultNamespace, name.labels));
  if (name.kind === 'domain') return { text };
  const places = placesOf(view, name);
  const [place] = places;
  if (name.kind === 'pod' && place?.workload === undefined)
    return {
      ...onNode(view, place),
      text: podText(`${name.namespace ?? view.defaultNamespace}/${name.name}`, end),
    };
  if (name.kind === 'pod' || name.kind === 'workload') return onePod(view, end, podsOf(places));
  if (name.kind === 'address') return { ...onNode(view, place), text };
  const address = place!.addresses.find(each => isOfFamily(each, end)) ?? place!.addresses[0]!;
  return { ...onNode(view, place), text: addressText(address, end) };
}

/** A packet goes to one of the pods behind the Service, on the port that it listens on. */
function behindService(view: ClusterView, end: NamedEndpoint): TracedEnd {
  const { targets, undecided } = targetsOf(view, end);
  const found = targets.find(({ endpoint }) => podOf(endpoint)?.node) ?? targets.find(hasAddress);
  if (found === undefined) throw new FlowTextError(undecided ?? `"${end.text}": no pod behind it runs`);
  const { endpoint, port, protocol } = found;
  const there = { ...end, protocol: String(protocol), ...(port !== undefined && { port: String(port) }) };
  const text =
    endpoint.pod === undefined
      ? addressText(endpoint.addresses[0]!, there)
      : podText(endpoint.pod.key, there);
  const ends = plural(new Set(targets.map(target => target.endpoint.name)).size, 'endpoint');
  return { ...onNode(view, endpoint), text, note: `${end.text} leads to ${ends}: ${text} is traced` };
}

function hasAddress({ endpoint }: Target): boolean {
  return endpoint.addresses.length > 0;
}

function onePod(view: ClusterView, end: NamedEndpoint, pods: readonly Pod[]): TracedEnd {
  const pod = pods.find(({ node }) => node !== '') ?? pods[0];
  if (pod === undefined) throw new FlowTextError(`"${end.text}" has no pod that runs`);
  const text = podText(pod.key, end);
  const note = `${end.text} is traced as ${pod.key}, ${pods.length === 1 ? 'its pod' : `one of ${pods.length} pods`}`;
  return { ...onNode(view, { name: pod.key, addresses: pod.addresses, pod }), text, note };
}

export function podsOf(places: readonly ResolvedEndpoint[]): Pod[] {
  return places.flatMap(({ pod }) => pod ?? []);
}

/** Pods that run. */
export function podsWith({ cluster }: ClusterView, namespace: string, labels: Labels): Pod[] {
  const isMeant = (pod: Pod) => pod.namespace === namespace && hasLabels(pod.labels, labels);
  return [...cluster.pods.values()].filter(pod => isMeant(pod) && !pod.finished && pod.addresses.length > 0);
}

function onNode({ cluster }: ClusterView, place: ResolvedEndpoint | undefined): Pick<TracedEnd, 'node'> {
  const nodes = [...cluster.nodes.values()];
  const node =
    place?.pod?.node ||
    nodes.find(each => addressesOfNode(each).some(own => place?.addresses.includes(own)))?.name;
  return node ? { node } : {};
}

function podText(key: string, end: NamedEndpoint): string {
  const family = end.family === undefined ? '' : `@${end.family === 'ip' ? 4 : 6}`;
  return key + family + tail(end);
}

function addressText(address: Address, end: NamedEndpoint): string {
  const host = address.includes(':') && end.port !== undefined ? `[${address}]` : address;
  return host + tail(end);
}

function tail({ port, protocol }: Pick<NamedEndpoint, 'port' | 'protocol'>): string {
  return `${port === undefined ? '' : `:${port}`}${protocol === undefined ? '' : `/${protocol}`}`;
}

function isOfFamily(address: Address, { family }: NamedEndpoint): boolean {
  return family === undefined || address.includes(':') === (family === 'ip6');
}
