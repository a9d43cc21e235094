/** Warnings about networks that policies name. */
import { addressBits, type Cidr, cidrsOverlap, cidrText, familyOf } from '../../model/address.ts';
import { internalIpsOf } from '../../model/cluster.ts';
import type { Policy } from '../../model/policy.ts';
import type { Problem } from '../../model/problem.ts';
import { directedRules, type Facts, MOST_OF_POLICY, networksOf, peersField, warning } from './facts.ts';

/** 4.20. A network of all addresses means the internet, and contains the pods behind a Service anyway. */
export function serviceAddress(policy: Policy, facts: Facts): readonly Problem[] {
  return (policy.egress ?? []).flatMap(rule =>
    networksOf(rule).flatMap(network => {
      const service = serviceIn(network, facts);
      if (service === undefined) return [];
      const message = `has the network ${cidrText(network)}, which covers the Service addresses ${cidrText(service)}`;
      const effect = 'it matches no traffic to a Service: policy sees the address of the pod behind it';
      return [warning('service-address', policy.id, peersField('egress', rule), message, effect)];
    }),
  );
}

/** An external address is meant only by itself: a wider network means hosts beside the load balancer too. */
function serviceIn(network: Cidr, { serviceNetworks, externalAddresses }: Facts): Cidr | undefined {
  if (network.prefix === 0) return undefined;
  if (isHost(network) && externalAddresses.has(network.base)) return network;
  return serviceNetworks.find(each => cidrsOverlap(network, each));
}

function isHost({ family, prefix }: Cidr): boolean {
  return prefix === addressBits(family);
}

/** N75: written by hand for what a node sends to pods of other nodes, before its own address meant that. */
export function tunnelAddress(policy: Policy, { tunnels }: Facts): readonly Problem[] {
  if (tunnels.size === 0) return [];
  const found: Problem[] = [];
  for (const [direction, rule] of directedRules(policy))
    for (const network of networksOf(rule)) {
      const { base, prefix, family } = network;
      const node = isHost(network) ? tunnels.get(base) : undefined;
      const own = node && internalIpsOf(node).find(address => familyOf(address) === family);
      if (own === undefined) continue;
      if (found.length === MOST_OF_POLICY) return found;
      const message = `has ${base}/${prefix}, from which node ${node!.name} sends into its tunnel`;
      const effect = `a network with ${own} means that too, and stays right when the node gets another pod network`;
      found.push(warning('tunnel-address', policy.id, peersField(direction, rule), message, effect));
    }
  return found;
}
