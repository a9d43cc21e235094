/** The desired state of one node: a pure function of the cluster. */

import { getOrMake } from '../lib/collections/getormake.ts';
import { type Address, type Cidr, cidrContains, FAMILIES, type Family, familyOf } from '../model/address.ts';
import type { Cluster } from '../model/cluster.ts';
import { hasDomainPeers } from '../model/domainpeers.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { PodLinks } from '../model/podlinks.ts';
import { podMark } from '../model/podmark.ts';
import { comparePolicies, type Policy } from '../model/policy.ts';
import type {
  Chain,
  ElementKey,
  ElementValue,
  NftSet,
  NftVerdict,
  Ruleset,
  Table,
  TableFamily,
} from '../nft/ruleset.ts';
import { attachedPods, type TablePart } from './attachedpods.ts';
import { baseChains, podSets } from './base.ts';
import type { Builder } from './builder.ts';
import { BundledClasses } from './bundled.ts';
import { classOf, type PodClass } from './classes.ts';
import { deniedSets } from './denied.ts';
import { groupElements, groupSet } from './group.ts';
import { type IndexedPod, PodIndex } from './live/pods/podindex.ts';
import { type DnsQueue, forgedPart, namesPart, resolverPorts } from './namespeers.ts';
import { namesSubjects } from './namessubjects.ts';
import { ClassBuilder } from './parts.ts';
import { linkPart, nodeNetworkOf } from './podlinks.ts';
import { podPortsTable } from './podports.ts';
import { buildClass, className, sharesIn } from './program.ts';
import type { Shares } from './shares.ts';
import { deniedNetworks, OPEN_VERDICT } from './unknownpods.ts';

/** A local pod in its class of one direction. */
export interface Placement {
  readonly indexedPod: IndexedPod;
  readonly podClass: PodClass;
  /** The name of the class's chain. */
  readonly chain: string;
}

/**
 * Compiles the two tables of node `node`. `unknownPods` says whether addresses that no known pod has are denied,
 * `podLinks` who connects the node's pods, and `dnsQueue` how DNS answers are read; without it, rules by name match
 * nothing.
 */
export function compile(
  cluster: Cluster,
  node: string,
  unknownPods: UnknownPods = 'allow',
  podLinks: PodLinks = 'others',
  dnsQueue?: DnsQueue,
): Ruleset {
  const podIndex = new PodIndex(cluster, node);
  const policies = [...cluster.policies.values()].map(policy => podIndex.tunnels.marked(policy));
  const { classes, placements } = classify(policies, podIndex);
  const shares = sharesOfAll(classes);
  const denied = deniedNetworks(cluster, node, unknownPods);
  const network = nodeNetworkOf(cluster.nodes.get(node), podLinks);
  const known = knownPods(cluster, podIndex, node, denied, unknownPods);
  const named = policies.some(hasDomainPeers);
  const tables = FAMILIES.map((family): [TableFamily, Table] => {
    const builder = new ClassBuilder(family, dnsQueue !== undefined);
    for (const [name, podClass] of classes) buildClass(podClass, shares.get(name)!, name, builder);
    builder.includeParts();
    const attached = podLinks === 'ours' ? attachedPods(family, cluster, node) : NOTHING;
    const subjects = namesSubjects(placements, builder.groups.values());
    const readsAnswers = dnsQueue !== undefined && subjects.pods.length > 0;
    const withoutAnswers = named ? forgedPart(network) : NOTHING;
    const names = readsAnswers ? namesPart(family, subjects, dnsQueue, network) : withoutAnswers;
    const answers = named ? { ports: resolverPorts(dnsQueue), readsAnswers } : undefined;
    const parts = [linkPart(family, cluster.nodes, node), attached, names];
    const base = [
      ...baseChains(family, denied, network, { answers }),
      ...parts.flatMap(({ chains }) => chains),
    ];
    const sets = [...podMaps(placements, known, family), ...parts.flatMap(part => part.sets)];
    return [family, tableOf(builder, base, sets, podIndex)];
  });
  const bridge = podPortsTable(cluster.nodes.get(node)?.links, unknownPods);
  return { tables: new Map(bridge === undefined ? tables : [...tables, ['bridge', bridge]]) };
}

const NOTHING: TablePart = { chains: [], sets: [] };

function classify(policies: readonly Policy[], podIndex: PodIndex) {
  const candidates = candidatesByNamespace(policies);
  const classes = new Map<string, PodClass>();
  const placements: Placement[] = [];
  for (const indexedPod of podIndex.local()) {
    const { pod, namespace } = indexedPod;
    for (const direction of ['egress', 'ingress'] as const) {
      const podClass = classOf(pod, namespace, candidates(pod.namespace), direction);
      if (podClass === undefined) continue;
      const chain = className(podClass);
      classes.set(chain, podClass);
      placements.push({ indexedPod, podClass, chain });
    }
  }
  // Sorted, so that the names of shared objects do not depend on the order of the pods.
  return { classes: new Map([...classes].sort(([a], [b]) => (a < b ? -1 : 1))), placements };
}

function sharesOfAll(classes: ReadonlyMap<string, PodClass>): Map<string, Shares> {
  const bundled = new BundledClasses();
  for (const [name, podClass] of classes) bundled.set(name, podClass);
  return new Map([...classes].map(([name, podClass]) => [name, sharesIn(podClass, bundled.has(name))]));
}

/** The policies that can select pods of a namespace, in order of precedence. */
function candidatesByNamespace(policies: readonly Policy[]): (namespace: string) => readonly Policy[] {
  const sorted = [...policies].sort(comparePolicies);
  const found = new Map<string, readonly Policy[]>();
  return namespace =>
    getOrMake(found, namespace, () =>
      sorted.filter(
        ({ subject }) => subject.namespaces.kind === 'labels' || subject.namespaces.name === namespace,
      ),
    );
}

function tableOf(
  builder: Builder,
  base: readonly Chain[],
  maps: readonly NftSet[],
  podIndex: PodIndex,
): Table {
  const { family, groups } = builder;
  const sets = new Map<string, NftSet>(builder.sets);
  for (const set of maps) sets.set(set.name, set);
  for (const named of groups.values()) {
    const elements = groupElements(named.group, family, podIndex);
    sets.set(named.name, { ...groupSet(named, family), elements });
  }
  const chains = new Map<string, Chain>(builder.chains);
  for (const chain of base) chains.set(chain.name, chain);
  return { sets, chains };
}

/**
 * The pods that the pod maps need although no policy affects them, where unknown pods are denied: all pods of the node,
 * and pods of other nodes with the addresses that they have in this node's pod networks (N67).
 */
function knownPods(
  { pods }: Cluster,
  podIndex: PodIndex,
  node: string,
  denied: readonly Cidr[],
  unknownPods: UnknownPods,
): readonly IndexedPod[] {
  if (unknownPods === 'allow') return [];
  const remotePods = [...pods.keys()].flatMap(
    key => remotePodInNetworks(podIndex.indexedPod(key), node, denied) ?? [],
  );
  return [...podIndex.local(), ...remotePods];
}

/** A pod of another node, with its addresses in this node's pod networks; undefined if it has none there. */
export function remotePodInNetworks(
  indexedPod: IndexedPod | undefined,
  node: string,
  denied: readonly Cidr[],
): IndexedPod | undefined {
  if (indexedPod === undefined || indexedPod.pod.node === node) return undefined;
  const inside = (address: Address) => denied.some(cidr => cidrContains(cidr, address));
  const addresses = indexedPod.addresses.filter(inside);
  return addresses.length === 0 ? undefined : { ...indexedPod, addresses };
}

/**
 * The pod maps of one family and the sets beside them, also for denied pods: a local pod's address leads to the chain
 * of its class.
 */
export function podMaps(
  placements: readonly Placement[],
  known: readonly IndexedPod[],
  family: Family,
): readonly NftSet[] {
  const maps = (['egress', 'ingress'] as const).flatMap(direction => {
    const elements = new Map<ElementKey, ElementValue>();
    for (const indexedPod of known) addElements(elements, indexedPod, family, OPEN_VERDICT[direction]);
    for (const { podClass, indexedPod, chain } of placements) {
      if (podClass.direction === direction)
        addElements(elements, indexedPod, family, { kind: 'goto', chain });
    }
    return podSets(direction, family, elements);
  });
  return [...maps, ...deniedSets(family)];
}

function addElements(
  elements: Map<ElementKey, ElementValue>,
  { addresses, pod }: IndexedPod,
  family: Family,
  verdict: NftVerdict,
): void {
  for (const address of addresses) {
    if (familyOf(address) === family) elements.set(address, { verdict, comment: podMark(pod.key) });
  }
}
