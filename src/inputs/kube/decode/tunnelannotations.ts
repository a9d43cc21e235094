/**
 * The annotations of a Node by which network plugins say from which addresses it sends into tunnels (N75). Nothing else
 * on a Node says so, and a node without them has no such addresses.
 */
import { type Address, familyOf, parseAddress, parseCidr } from '../../../model/address.ts';
import type { Field } from './fields.ts';

/** Annotations whose value is the address itself. */
const OF_ADDRESSES = [
  // libcalico-go: nodes of the backend "k8s". Tunnels of IPIP, VXLAN and WireGuard each have an interface.
  'projectcalico.org/IPv4IPIPTunnelAddr',
  'projectcalico.org/IPv4VXLANTunnelAddr',
  'projectcalico.org/IPv6VXLANTunnelAddr',
  'projectcalico.org/IPv4WireguardInterfaceAddr',
  'projectcalico.org/IPv6WireguardInterfaceAddr',
  // Cilium: the host sends from the address of the interface cilium_host.
  'network.cilium.io/ipv4-cilium-host',
  'network.cilium.io/ipv6-cilium-host',
];

/** Flannel does not write the address: with the back end VXLAN it is the first of the node's pod network. */
const FLANNEL = {
  backEnd: 'flannel.alpha.coreos.com/backend-type',
  /** Set for each family in which it has a tunnel. */
  ip: 'flannel.alpha.coreos.com/public-ip',
  ip6: 'flannel.alpha.coreos.com/public-ipv6',
};

export const TUNNEL_ANNOTATIONS: readonly string[] = [...OF_ADDRESSES, ...Object.values(FLANNEL)];

/** The addresses, each once. A value that is no address is no claim: nothing but policy for this node depends on it. */
export function readTunnelAddresses(object: Field, podCidrs: readonly string[]): readonly Address[] {
  const annotations = object.get('metadata').get('annotations');
  const named = OF_ADDRESSES.map(key => addressIn(annotations.get(key))).filter(one => one !== undefined);
  return [...new Set([...named, ...ofFlannel(annotations, podCidrs)])];
}

/** Whether flanneld has run on the node: then it has written the name of its back end. */
export function hasFlannel(object: Field): boolean {
  return object.get('metadata').get('annotations').get(FLANNEL.backEnd).value !== undefined;
}

function ofFlannel(annotations: Field, podCidrs: readonly string[]): Address[] {
  if (annotations.get(FLANNEL.backEnd).value !== 'vxlan') return [];
  const networks = podCidrs.map(parseCidr).filter(cidr => cidr !== undefined);
  return networks.flatMap(({ family, base }) => {
    const publicIp = addressIn(annotations.get(FLANNEL[family]));
    return publicIp !== undefined && familyOf(publicIp) === family ? [base] : [];
  });
}

function addressIn({ value }: Field): Address | undefined {
  return typeof value === 'string' ? parseAddress(value) : undefined;
}
