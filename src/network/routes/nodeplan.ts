/** What the node gives to its pods, read from its Node object and from the kernel. */
import { type Address, parseAddress } from '../../model/address.ts';
import type { Node } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import type { NodePlan } from '../attach/attacher.ts';
import type { NodeInterfaces } from '../attach/nodeinterfaces.ts';
import { NetworkError } from '../error.ts';

/** Addresses of the documentation networks: they are everywhere and nowhere, so the way to them is the way out. */
const OUTSIDE = ['192.0.2.1', '2001:db8::1'].map(text => parseAddress(text)!);
const DEFAULT_MTU = 1500;

/** Throws NetworkError while the node has no pod CIDR. */
export async function nodePlan(
  links: NodeInterfaces,
  name: string,
  node: Node | undefined,
): Promise<NodePlan> {
  const podCidrs = podCidrsOf(node);
  if (podCidrs.length === 0)
    throw new NetworkError(
      'unavailable',
      node === undefined
        ? `there is no Node ${name} yet`
        : `Node ${name} has no spec.podCIDRs: let the controller manager allocate them (--allocate-node-cidrs)`,
    );
  const own = await links.ownAddresses();
  const ours = new Set(own.map(({ address }) => address));
  const sources = (node?.addresses ?? []).filter(address => ours.has(address));
  return { podCidrs, sources, mtu: await uplinkMtu(links, sources) };
}

/** The smallest of the interfaces that lead out: of both families a pod has but one interface. */
async function uplinkMtu(links: NodeInterfaces, sources: readonly Address[]): Promise<number> {
  const ways = await Promise.all(OUTSIDE.map(address => links.wayTo(address)));
  const own = await links.ownAddresses();
  const indexes = new Set([
    ...ways.map(way => way?.device),
    ...own.filter(({ address }) => sources.includes(address)).map(({ device }) => device),
  ]);
  const mtus = (await links.links()).filter(({ index }) => indexes.has(index)).map(({ mtu }) => mtu);
  return mtus.length === 0 ? DEFAULT_MTU : Math.min(...mtus);
}
