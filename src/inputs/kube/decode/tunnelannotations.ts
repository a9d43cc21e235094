/**
 * The annotations of a Node by which network plugins say from which addresses it sends into tunnels (N75). Nothing else
 * on a Node says so, and a node without them has no such addresses.
 */
import { type Address, familyOf, parseAddress, parseCidr } from '../../../model/address.ts';
import type { Field } from './fields.ts';

/** Annotations whose value is the address itself, with the name of the interface that has it. */
const OF_ADDRESSES: Readonly<Record<string, string>> = {
  // libcalico-go: nodes of the backend "k8s". Tunnels of IPIP, VXLAN and WireGuard each have an interface.
  'projectcalico.org/IPv4IPIPTunnelAddr': 'tunl0',
  'projectcalico.org/IPv4VXLANTunnelAddr': 'vxlan.calico',
  'projectcalico.org/IPv6VXLANTunnelAddr': 'vxlan-v6.calico',
  'projectcalico.org/IPv4WireguardInterfaceAddr': 'wireguard.cali',
  'projectcalico.org/IPv6WireguardInterfaceAddr': 'wg-v6.cali',
  // Cilium: the host sends from the address of the interface cilium_host.
  'network.cilium.io/ipv4-cilium-host': 'cilium_host',
  'network.cilium.io/ipv6-cilium-host': 'cilium_host',
};

/**
 * Flannel does not write the address: with the back end VXLAN it is the first of the node's pod network. The number of
 * the VXLAN, which the data contains, is in the name of the interface.
 */
const BACK_END = 'flannel.alpha.coreos.com/backend-type';
const FLANNEL = {
  /** `ip` is set for each family in which it has a tunnel. */
  ip: {
    ip: 'flannel.alpha.coreos.com/public-ip',
    data: 'flannel.alpha.coreos.com/backend-data',
    device: 'flannel',
  },
  ip6: {
    ip: 'flannel.alpha.coreos.com/public-ipv6',
    data: 'flannel.alpha.coreos.com/backend-v6-data',
    device: 'flannel-v6',
  },
} as const;

export const TUNNEL_ANNOTATIONS: readonly string[] = [
  ...Object.keys(OF_ADDRESSES),
  BACK_END,
  ...Object.values(FLANNEL).flatMap(({ ip, data }) => [ip, data]),
];

/**
 * The addresses with the names of their interfaces. A value that is no address is no claim: nothing but policy for this
 * node depends on it.
 */
export function readTunnelAddresses(
  object: Field,
  podCidrs: readonly string[],
): ReadonlyMap<Address, string> {
  const annotations = object.get('metadata').get('annotations');
  const named = Object.entries(OF_ADDRESSES).flatMap(([key, device]) => {
    const address = addressIn(annotations.get(key));
    return address === undefined ? [] : [[address, device] as const];
  });
  return new Map([...named, ...ofFlannel(annotations, podCidrs)]);
}

/** Whether flanneld has run on the node: then it has written the name of its back end. */
export function hasFlannel(object: Field): boolean {
  return object.get('metadata').get('annotations').get(BACK_END).value !== undefined;
}

function ofFlannel(annotations: Field, podCidrs: readonly string[]): (readonly [Address, string])[] {
  if (annotations.get(BACK_END).value !== 'vxlan') return [];
  const networks = podCidrs.map(parseCidr).filter(cidr => cidr !== undefined);
  return networks.flatMap(({ family, base }) => {
    const { ip, data, device } = FLANNEL[family];
    const publicIp = addressIn(annotations.get(ip));
    if (publicIp === undefined || familyOf(publicIp) !== family) return [];
    const [, number = '1'] = /"VNI":\s*(\d{1,8})\b/.exec(String(annotations.get(data).value)) ?? [];
    return [[base, `${device}.${number}`] as const];
  });
}

function addressIn({ value }: Field): Address | undefined {
  return typeof value === 'string' ? parseAddress(value) : undefined;
}
