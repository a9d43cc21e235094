/** What should stand in the kernel of one node: a pure function of the cluster. */
import { FAMILIES, type Family, familyOf } from '../model/address.ts';
import { type Cluster, namespaceLabels } from '../model/cluster.ts';
import { comparePolicies, type Direction, type Policy } from '../model/policy.ts';
import type { Chain, ElementKey, ElementValue, NftSet, Ruleset, Table } from '../nft/ruleset.ts';
import { baseChains, podSets } from './base.ts';
import { Builder } from './builder.ts';
import { classOf, type PodClass } from './classes.ts';
import { Directory, type Resident } from './directory.ts';
import { groupElements, groupSet } from './group.ts';
import { Names } from './names.ts';
import { buildClass, className } from './program.ts';

/** A local pod in one of its two classes. */
export interface Placement {
  readonly resident: Resident;
  readonly podClass: PodClass;
  /** The class's chain. */
  readonly chain: string;
}

/** The two tables of node `node`. */
export function compile(cluster: Cluster, node: string): Ruleset {
  const directory = new Directory(cluster);
  const names = new Names();
  const { classes, placements } = classify(cluster, directory, node, names);
  const tables = FAMILIES.map((family): [Family, Table] => {
    const builder = new Builder(family, names);
    for (const [name, podClass] of classes) buildClass(podClass, name, builder);
    return [family, tableOf(builder, placements, directory)];
  });
  return { tables: new Map(tables) };
}

function classify(cluster: Cluster, directory: Directory, node: string, names: Names) {
  const candidates = candidatesByNamespace(cluster);
  const classes = new Map<string, PodClass>();
  const placements: Placement[] = [];
  for (const resident of directory.onNode(node)) {
    const { pod } = resident;
    for (const direction of ['egress', 'ingress'] as const) {
      const labels = namespaceLabels(cluster, pod.namespace);
      const podClass = classOf(pod, labels, candidates(pod.namespace), direction);
      if (podClass === undefined) continue;
      const chain = className(podClass, names);
      classes.set(chain, podClass);
      placements.push({ resident, podClass, chain });
    }
  }
  // In one order whatever the order of the pods, so that shared names come out the same.
  return { classes: new Map([...classes].sort(([a], [b]) => (a < b ? -1 : 1))), placements };
}

/** The policies that can select pods of a namespace, in order of precedence. */
function candidatesByNamespace(cluster: Cluster): (namespace: string) => readonly Policy[] {
  const sorted = [...cluster.policies.values()].sort(comparePolicies);
  const found = new Map<string, readonly Policy[]>();
  return namespace => {
    const known = found.get(namespace);
    if (known !== undefined) return known;
    const chosen = sorted.filter(
      ({ subject }) => subject.namespaces.kind === 'labels' || subject.namespaces.name === namespace,
    );
    found.set(namespace, chosen);
    return chosen;
  };
}

function tableOf(builder: Builder, placements: readonly Placement[], directory: Directory): Table {
  const { family, groups } = builder;
  const sets = new Map<string, NftSet>(builder.sets);
  for (const direction of ['egress', 'ingress'] as const) {
    const elements = podElements(placements, direction, family);
    for (const set of podSets(direction, family, elements)) sets.set(set.name, set);
  }
  for (const named of groups.values()) {
    sets.set(named.name, {
      ...groupSet(named, family),
      elements: groupElements(named.group, family, directory),
    });
  }
  const chains = new Map<string, Chain>(builder.chains);
  for (const chain of baseChains(family)) chains.set(chain.name, chain);
  return { sets, chains };
}

/** The elements of a direction's verdict map: a local pod's address leads to the chain of its class. */
export function podElements(placements: readonly Placement[], direction: Direction, family: Family) {
  const elements = new Map<ElementKey, ElementValue>();
  for (const placement of placements) {
    if (placement.podClass.direction !== direction) continue;
    const { addresses, pod } = placement.resident;
    for (const address of addresses.filter(candidate => familyOf(candidate) === family)) {
      elements.set(address, {
        verdict: { kind: 'goto', chain: placement.chain },
        comment: pod.key.slice(0, 120),
      });
    }
  }
  return elements;
}
