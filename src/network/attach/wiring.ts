/**
 * The rtnetlink steps that make an attachment. Pure.
 *
 *     pod                                     node
 *     eth0 10.244.1.5/32, fd00::5/128 ─────── sl…  10.244.1.5 dev sl…, fd00::5 dev sl…
 *       default via 169.254.1.1, fe80::1            permanent neighbour entries on both sides
 *
 * The node routes every packet, also between two of its pods, so every packet passes its `forward` hook. The gateways'
 * addresses belong to no interface: the pod has a permanent neighbour entry that leads to the node's interface. So
 * ARP and neighbour discovery are not used, the first packet does not wait for them, and the node needs neither
 * addresses of its own there nor proxy_arp.
 */

import {
  type Existing,
  type Route,
  writeNeighbour,
  writeNewAddress,
  writeNewRoute,
  writeSetLink,
} from '../../kernel/netlink/route/rtnetlink.ts';
import type { RouteStep } from '../../kernel/netlink/route/rtnetlink-socket.ts';
import {
  type Address,
  addressBits,
  type Cidr,
  type Family,
  familyOf,
  parseAddress,
} from '../../model/address.ts';
import type { Mac } from '../../model/mac.ts';
import { aliasOf, type LinkOwner } from './attachment.ts';

/** rtm_protocol of every route that we make: `ip route show proto 115`. */
export const PROTOCOL = 115;

export const GATEWAYS: Readonly<Record<Family, Address>> = {
  ip: parseAddress('169.254.1.1')!,
  ip6: parseAddress('fe80::1')!,
};

const LOOPBACK = 1;

export interface NodeEnd {
  readonly owner: LinkOwner;
  readonly index: number;
  readonly podMac: Mac;
  readonly addresses: readonly Address[];
  /** The node's own addresses, from which it sends to its pods. */
  readonly sources: readonly Address[];
}

/** The routes record that the addresses are given out: with `refuse` no two pods can get the same one. */
export function nodeSteps(end: NodeEnd, existing: Existing): RouteStep[] {
  const { owner, index, podMac, addresses } = end;
  return [
    {
      what: `name and raise the node's end of ${owner.pod}`,
      write: (to, sequence) =>
        writeSetLink(to, sequence, { index, up: true, alias: aliasOf(owner), noOwnAddress: true }),
    },
    ...addresses.map(address => routeStep(podRoute(end, address), existing)),
    ...addresses.map(address => neighbourStep(index, address, podMac)),
  ];
}

function podRoute({ index, sources }: Pick<NodeEnd, 'index' | 'sources'>, address: Address): Route {
  const source = sources.find(own => familyOf(own) === familyOf(address));
  return {
    destination: hostCidr(address),
    device: index,
    protocol: PROTOCOL,
    ...(source && { source }),
  };
}

export interface PodEnd {
  readonly index: number;
  readonly nodeMac: Mac;
  readonly addresses: readonly Address[];
}

export function podSteps({ index, nodeMac, addresses }: PodEnd): RouteStep[] {
  return [
    {
      what: "raise the pod's loopback",
      write: (to, sequence) => writeSetLink(to, sequence, { index: LOOPBACK, up: true }),
    },
    {
      what: "raise the pod's end",
      write: (to, sequence) => writeSetLink(to, sequence, { index, up: true }),
    },
    ...addresses.flatMap(address => {
      const family = familyOf(address);
      const gateway = GATEWAYS[family];
      const route: Route = { destination: everywhere(family), gateway, device: index, protocol: PROTOCOL };
      return [
        {
          what: `give the pod ${address}`,
          write: (to, sequence) => writeNewAddress(to, sequence, index, address),
        } satisfies RouteStep,
        neighbourStep(index, gateway, nodeMac),
        routeStep(route, 'replace'),
      ];
    }),
  ];
}

export function routeStep(route: Route, existing: Existing): RouteStep {
  const { base, prefix } = route.destination;
  return {
    what: `route ${base}/${prefix}`,
    write: (to, sequence) => writeNewRoute(to, sequence, route, existing),
  };
}

function neighbourStep(device: number, address: Address, mac: Mac): RouteStep {
  return {
    what: `say who ${address} is`,
    write: (to, sequence) => writeNeighbour(to, sequence, { device, address, mac }),
  };
}

function hostCidr(address: Address): Cidr {
  const family = familyOf(address);
  return { family, base: address, prefix: addressBits(family) };
}

function everywhere(family: Family): Cidr {
  return { family, base: parseAddress(family === 'ip' ? '0.0.0.0' : '::')!, prefix: 0 };
}
