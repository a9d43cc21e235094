/**
 * A cluster's network on this machine: one network namespace for each node, each pod and all that is outside,
 * with veth pairs and routes between them. Needs root and iproute2.
 */

import { readdirSync, writeFileSync } from 'node:fs';
import type { Address } from '../../src/model/address.ts';
import { isAlive } from './alive.ts';
import { undoAtExit } from './cleanup.ts';
import { ipBatch, ipBatchForced } from './ip.ts';
import { linksReady } from './linksready.ts';
import { inNamespace } from './netns.ts';
import type { Topology } from './topology.ts';
import { type NamespaceNames, namespaceNames, type Wiring, wiringOf } from './wiring.ts';

export interface Lab {
  readonly topology: Topology;
  readonly names: NamespaceNames;
  /** Path of the network namespace in which an address lives, for `inNamespace`. */
  namespaceOf(address: Address): string;
  /** Path of a node's network namespace. */
  nodeNamespace(node: string): string;
  /** Takes everything away. Harmless to repeat. */
  remove(): void;
  /** Leaves it running when this process ends. */
  keep(): void;
}

export interface LabOptions {
  /** Begins the name of every namespace. Default: one that is unique and says which process made it. */
  readonly prefix?: string;
}

export async function buildLab(topology: Topology, options: LabOptions = {}): Promise<Lab> {
  const prefix = options.prefix ?? uniquePrefix();
  const remove = () => removeNamespaces(prefix);
  const forget = undoAtExit(remove);
  try {
    await wire(wiringOf(topology, namespaceNames(prefix)));
  } catch (error) {
    remove();
    forget();
    throw error;
  }
  return {
    ...attachLab(topology, prefix),
    remove: () => {
      remove();
      forget();
    },
    keep: forget,
  };
}

/** A laboratory that another process built and left running; it stays when this process ends. */
export function attachLab(topology: Topology, prefix: string): Lab {
  const names = namespaceNames(prefix);
  const homes = homesOf(topology, names);
  return {
    topology,
    names,
    namespaceOf: address => homes.get(address) ?? namespacePath(names.outside),
    nodeNamespace: node => namespacePath(names.node(node)),
    remove: () => removeNamespaces(prefix),
    keep: () => {},
  };
}

/** Removes what an earlier process left because it was killed. A process that lives keeps its own. */
export function sweepLabs(): void {
  const dead = namespacesStartingWith(UNIQUE).filter(name => !isAlive(Number(name.split('-')[2])));
  deleteNamespaces(dead);
}

/** Removes every namespace of a laboratory by its prefix. */
export function removeNamespaces(prefix: string): void {
  deleteNamespaces(namespacesStartingWith(`${prefix}.`));
}

async function wire({ namespaces, links, ends, inside, routers }: Wiring): Promise<void> {
  await ipBatch(namespaces.map(name => `netns add ${name}`));
  for (const name of namespaces) acceptAnySource(name);
  await ipBatch(links);
  await Promise.all([...inside].map(([name, commands]) => ipBatch(commands, name)));
  for (const name of routers) forward(name);
  await linksReady(ends.map(end => ({ ...end, namespace: namespacePath(end.namespace) })));
}

// New IPv4 namespaces copy this from the machine; a strict filter would drop what comes from outside.
function acceptAnySource(name: string): void {
  sysctl(name, 'ipv4/conf/all/rp_filter', 0);
  sysctl(name, 'ipv4/conf/default/rp_filter', 0);
}

function forward(name: string): void {
  sysctl(name, 'ipv4/ip_forward', 1);
  sysctl(name, 'ipv6/conf/all/forwarding', 1);
}

// /proc/sys/net shows the namespace of the thread that opens it.
function sysctl(name: string, key: string, value: number): void {
  inNamespace(namespacePath(name), () => writeFileSync(`/proc/sys/net/${key}`, String(value)));
}

function homesOf({ nodes, pods }: Topology, names: NamespaceNames): Map<Address, string> {
  return new Map([
    ...nodes.flatMap(({ name, addresses }) =>
      addresses.map(at => [at, namespacePath(names.node(name))] as const),
    ),
    ...pods.flatMap(({ name, addresses }) =>
      addresses.map(at => [at, namespacePath(names.pod(name))] as const),
    ),
  ]);
}

const NETNS_DIR = '/run/netns';

function namespacePath(name: string): string {
  return `${NETNS_DIR}/${name}`;
}

const UNIQUE = 'sluice-lab-';

let built = 0;

function uniquePrefix(): string {
  return `${UNIQUE}${process.pid}-${built++}`;
}

function namespacesStartingWith(prefix: string): string[] {
  try {
    return readdirSync(NETNS_DIR).filter(name => name.startsWith(prefix));
  } catch {
    return []; // The directory comes with the machine's first named namespace.
  }
}

function deleteNamespaces(names: readonly string[]): void {
  if (names.length > 0) ipBatchForced(names.map(name => `netns delete ${name}`));
}
