/** Whom a proposal means: the pods that it selects and the peer that its rule names, as a person would write them. */
import {
  type Address,
  addressBits,
  cidrContains,
  cidrText,
  type Family,
  familyOf,
  parseCidr,
} from '../../../model/address.ts';
import { type Cluster, isSelectable, type Pod } from '../../../model/cluster.ts';
import type { Inventory } from '../../../model/inventory.ts';
import { hasLabels, type Labels } from '../../../model/labels.ts';
import { podCidrsOf } from '../../../model/podcidrs.ts';
import { matchesLabels, type Requirement } from '../../../model/selector.ts';
import type { Service } from '../../../model/service.ts';
import { isStableLabel, stableLabels } from '../../../model/stablelabels.ts';
import { type WorkloadId, workloadId } from '../../../model/workload.ts';
import { workloadByLabels } from '../../../model/workloadbylabels.ts';
import { topWorkloads, workloadOf } from '../../../model/workloadof.ts';
import type { Packet } from '../../../semantics/match.ts';

/** What the question names in place of pods: its own selector selects them, and those that it will have. */
export type PodGroup =
  | { readonly kind: 'workload'; readonly id: WorkloadId }
  | { readonly kind: 'service'; readonly service: Service };

/** As people write it. */
type SelectorObject = Readonly<Record<string, unknown>>;

/** The end of a proposed rule. */
export type Side =
  | PodsSide
  | { readonly kind: 'networks'; readonly name: string; readonly blocks: readonly IpBlock[] }
  | { readonly kind: 'domain'; readonly name: string };

export interface PodsSide {
  readonly kind: 'pods';
  readonly name: string;
  readonly namespace: string;
  readonly selector: SelectorObject;
}

export interface Sides {
  readonly subject: PodsSide;
  readonly peer: Side;
}

/** What the ends of the asked flows are, beside their addresses. */
export interface Meaning {
  /** Without the pods that exist only for the question. */
  readonly known: Cluster;
  readonly inventory: Inventory;
  readonly from?: PodGroup;
  readonly to?: PodGroup;
  /** Destinations that represent a domain name. */
  readonly domains: ReadonlyMap<Address, string>;
  /** Addresses that represent the internet. */
  readonly internet: ReadonlySet<Address>;
}

/** A sentence where no selector means these pods. */
export function sidesOf(meaning: Meaning, packet: Packet): Sides | string {
  const isIngress = packet.direction === 'ingress';
  const subject = podsSide(meaning, packet.subject, isIngress ? meaning.to : meaning.from);
  if (typeof subject === 'string') return subject;
  const peer = peerSide(meaning, packet, isIngress ? meaning.from : meaning.to);
  return typeof peer === 'string' ? peer : { subject, peer };
}

function peerSide(meaning: Meaning, { peerPod, peer, direction }: Packet, group?: PodGroup): Side | string {
  if (peerPod !== undefined) return podsSide(meaning, peerPod, group);
  const domain = direction === 'egress' ? meaning.domains.get(peer) : undefined;
  if (domain !== undefined) return { kind: 'domain', name: domain };
  if (!meaning.internet.has(peer)) {
    const name = group?.kind === 'service' ? group.service.name : (nodeNameOf(meaning.known, peer) ?? peer);
    return { kind: 'networks', name, blocks: [{ cidr: `${peer}/${addressBits(familyOf(peer))}` }] };
  }
  const families = new Set<Family>([...meaning.internet].map(familyOf));
  const blocks = [...families].sort().map(family => internetBlock(meaning.known, family));
  return { kind: 'networks', name: 'internet', blocks };
}

/** Policies of several addresses of a node have one name, and so are one. */
function nodeNameOf({ nodes }: Cluster, address: Address): string | undefined {
  const found = [...nodes.values()].filter(({ addresses }) => addresses.includes(address));
  return found.length === 1 ? found[0]!.name : undefined;
}

/** A sentence where no selector means the pods. */
export function podsSide(meaning: Meaning, pod: Pod, group?: PodGroup): PodsSide | string {
  const name = nameOf(meaning.inventory, pod, group);
  const selector = group?.kind === 'service' ? serviceSelector(group.service) : undefined;
  const found = selector ?? selectorOf(meaning, pod, group?.kind === 'workload' ? group.id : undefined);
  if (found !== undefined) return { kind: 'pods', name, namespace: pod.namespace, selector: found };
  return `no selector means ${pod.namespace}/${name}: it has no label of its own, so give its template (or manifest) one`;
}

/** Undefined where its labels are those of one pod, as for a Service of each pod of a StatefulSet. */
function serviceSelector({ selector = {} }: Service): SelectorObject | undefined {
  const labels = Object.entries(selector);
  return labels.length > 0 && labels.every(([key]) => isStableLabel(key))
    ? { matchLabels: selector }
    : undefined;
}

function nameOf(inventory: Inventory, pod: Pod, group?: PodGroup): string {
  if (group?.kind === 'service') return group.service.name;
  const owner = group && inventory.workloads.get(group.id)?.owner;
  const named = group?.id ?? workloadOf(inventory, pod).id;
  const id = named.startsWith('Pod ') ? workloadByLabels(pod) : named;
  return owner?.name ?? id?.slice(id.indexOf('/') + 1) ?? pod.name;
}

/** The selector of the workload where it selects nobody else's pods; else the labels that these pods have in common. */
function selectorOf({ known, inventory }: Meaning, pod: Pod, id?: WorkloadId): SelectorObject | undefined {
  const workload = id && inventory.workloads.get(id);
  const there = [...known.pods.values()].filter(
    other => isSelectable(other) && other.namespace === pod.namespace,
  );
  const isOwn = (other: Pod) => other.key === pod.key || (id !== undefined && isOf(inventory, other, id));
  const makers: readonly string[] = [id ?? '', workloadOf(inventory, pod).id];
  const templates = topWorkloads(inventory).filter(
    other => other.namespace === pod.namespace && !other.hostNetwork && !makers.includes(other.id),
  );
  const others = [...there.filter(other => !isOwn(other)), ...templates].map(({ labels }) => labels);
  const requirements = (workload?.selector?.requirements ?? []).filter(({ key }) => isStableLabel(key));
  if (requirements.length > 0 && !others.some(labels => matchesLabels({ requirements }, labels)))
    return selectorObject(requirements);
  const own = [pod, ...there.filter(isOwn), ...(workload === undefined ? [] : [workload])];
  return amongOthers(
    own.map(({ labels }) => stableLabels(labels)),
    others,
  );
}

/** Whether a workload owns the pod, directly or through a ReplicaSet or a Job. */
function isOf(inventory: Inventory, pod: Pod, id: WorkloadId): boolean {
  const owner = inventory.podOwners.get(pod.key);
  return (
    workloadOf(inventory, pod).id === id ||
    (owner !== undefined && workloadId(owner.kind, pod.namespace, owner.name) === id)
  );
}

/** Excludes those that have the same labels and more. Undefined without a label in common. */
function amongOthers(own: readonly Labels[], others: readonly Labels[]): SelectorObject | undefined {
  const labels = inCommon(own);
  if (Object.keys(labels).length === 0) return undefined;
  const isKnown = (key: string) => own.some(each => Object.hasOwn(each, key));
  const extra = others
    .filter(other => hasLabels(other, labels))
    .flatMap(other => Object.keys(other).filter(key => isStableLabel(key) && !isKnown(key)));
  const matchExpressions = [...new Set(extra)].sort().map(key => ({ key, operator: 'DoesNotExist' }));
  return { matchLabels: labels, ...(matchExpressions.length > 0 && { matchExpressions }) };
}

function inCommon([first = {}, ...others]: readonly Labels[]): Labels {
  return Object.fromEntries(
    Object.entries(first).filter(([key, value]) => others.every(other => other[key] === value)),
  );
}

/** `matchLabels` for what it can express. */
export function selectorObject(requirements: readonly Requirement[]): SelectorObject {
  const isPlain = ({ operator, values }: Requirement) => operator === 'In' && values.length === 1;
  const labels = requirements.filter(isPlain).map(({ key, values }) => [key, values[0]]);
  const expressions = requirements
    .filter(each => !isPlain(each))
    .map(({ key, operator, values }) => ({ key, operator, ...(values.length > 0 && { values }) }));
  return {
    ...(labels.length > 0 && { matchLabels: Object.fromEntries(labels) }),
    ...(expressions.length > 0 && { matchExpressions: expressions }),
  };
}

interface IpBlock {
  readonly cidr: string;
  readonly except?: readonly string[];
}

const EVERYWHERE: Readonly<Record<Family, string>> = { ip: '0.0.0.0/0', ip6: '::/0' };

/** Private and link-local networks, which are not the internet. */
const PRIVATE: readonly string[] = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  'fc00::/7',
  'fe80::/10',
];

/** The internet as people write it: everything but private addresses, and those of pods. */
function internetBlock({ nodes }: Cluster, family: Family): IpBlock {
  const within = PRIVATE.map(text => parseCidr(text)!);
  const ofPods = [...nodes.values()]
    .flatMap(podCidrsOf)
    .filter(pods => !within.some(cidr => cidr.family === pods.family && cidrContains(cidr, pods.base)));
  const except = [...within, ...ofPods].filter(cidr => cidr.family === family).map(cidrText);
  return { cidr: EVERYWHERE[family], except: [...new Set(except)] };
}
