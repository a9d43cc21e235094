/** What becomes of the host ports when pods come and go. */
import type { Address } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import { type HostPortMapping, ownerText } from '../../model/hostport.ts';
import { NetworkError } from '../error.ts';
import type { HostPort } from './hostport.ts';

export interface PortChange {
  /** The ports that shall lead to a pod's addresses, and no others. */
  readonly open?: {
    readonly pod: PodKey;
    readonly ports: readonly HostPort[];
    readonly addresses: readonly Address[];
  };
  /** Addresses that no port shall lead to. */
  readonly close?: readonly Address[];
}

export interface PortPlan {
  readonly remove: readonly HostPortMapping[];
  readonly add: readonly HostPortMapping[];
  /** Of those to be removed: what led to an address that nobody has. */
  readonly dead: readonly HostPortMapping[];
  /** For each change why nothing of it is done; undefined where it is. */
  readonly refusals: readonly (NetworkError | undefined)[];
}

/** The changes one after the other. `alive` are the addresses that pods have; undefined: no matter. */
export function portPlan(
  actual: readonly HostPortMapping[],
  alive: ReadonlySet<Address> | undefined,
  changes: readonly PortChange[],
): PortPlan {
  const dead = alive === undefined ? [] : actual.filter(({ pod }) => !alive.has(pod));
  let held = actual.filter(element => !dead.includes(element));
  const refusals = changes.map(({ open, close = [] }) => {
    held = held.filter(({ pod }) => !close.includes(pod));
    const opened = open === undefined ? held : withOpened(held, open);
    if (opened instanceof NetworkError) return opened;
    held = opened;
    return undefined;
  });
  return {
    remove: actual.filter(element => !held.includes(element)),
    add: held.filter(element => !actual.includes(element)),
    dead,
    refusals,
  };
}

type Opened = NonNullable<PortChange['open']>;

function mappingsFor({ pod, ports, addresses }: Opened): HostPortMapping[] {
  const owner = ownerText(pod);
  return ports.flatMap(({ protocol, hostPort, podPort }) =>
    addresses.map(address => ({ protocol, hostPort, podPort, pod: address, owner })),
  );
}

function withOpened(held: readonly HostPortMapping[], opened: Opened): HostPortMapping[] | NetworkError {
  const { pod, addresses } = opened;
  const wanted = mappingsFor(opened);
  // Others lead there since somebody had the address before.
  const all = held.filter(
    element => !addresses.includes(element.pod) || wanted.some(one => isSame(one, element)),
  );
  for (const one of wanted) {
    const holder = all.find(other => isSamePort(other, one));
    if (holder === undefined) all.push(one);
    else if (!isSame(holder, one)) return taken(holder, pod);
  }
  return all;
}

function isSame(a: HostPortMapping, b: HostPortMapping): boolean {
  return isSamePort(a, b) && a.pod === b.pod && a.podPort === b.podPort && a.owner === b.owner;
}

function isSamePort(a: HostPortMapping, b: HostPortMapping): boolean {
  return (
    a.protocol === b.protocol && a.hostPort === b.hostPort && a.pod.includes(':') === b.pod.includes(':')
  );
}

function taken({ hostPort, protocol, owner, pod: address, podPort }: HostPortMapping, pod: PodKey) {
  return new NetworkError(
    'conflict',
    `host port ${hostPort}/${protocol} leads to port ${podPort} of ${owner || address} already; ${pod} does not get it`,
  );
}
