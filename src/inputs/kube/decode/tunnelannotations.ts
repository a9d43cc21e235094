/**
 * The annotations of a Node by which network plugins say from which addresses it sends into tunnels (N75). Nothing else
 * on a Node says so, and a node without them has no such addresses.
 */
import { type Address, type Family, familyOf, parseAddress, parseCidr } from '../../../model/address.ts';
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
 * Flannel does not write the address: with back ends that have an interface for their tunnel it is the first of the
 * node's pod network. Back ends without one (`host-gw`) send from the node's own address.
 */
const BACK_END = 'flannel.alpha.coreos.com/backend-type';
/** `ip` is set for each family in which it has a tunnel. */
const FLANNEL = {
  ip: { ip: 'flannel.alpha.coreos.com/public-ip', data: 'flannel.alpha.coreos.com/backend-data' },
  ip6: { ip: 'flannel.alpha.coreos.com/public-ipv6', data: 'flannel.alpha.coreos.com/backend-v6-data' },
} as const;

/** The names that flanneld gives to the interfaces, by back end. The data of VXLAN contain the number of its network. */
const DEVICES: Readonly<Record<string, Partial<Record<Family, (data: unknown) => string>>>> = {
  vxlan: { ip: data => `flannel.${networkId(data)}`, ip6: data => `flannel-v6.${networkId(data)}` },
  wireguard: { ip: () => 'flannel-wg', ip6: () => 'flannel-wg-v6' },
  ipip: { ip: () => 'flannel.ipip' },
  udp: { ip: () => 'flannel0' },
};

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
  const backEnd = annotations.get(BACK_END).value;
  const devices = typeof backEnd === 'string' && Object.hasOwn(DEVICES, backEnd) ? DEVICES[backEnd]! : {};
  const networks = podCidrs.map(parseCidr).filter(cidr => cidr !== undefined);
  return networks.flatMap(({ family, base }) => {
    const { ip, data } = FLANNEL[family];
    const publicIp = addressIn(annotations.get(ip));
    const device = devices[family]?.(annotations.get(data).value);
    if (device === undefined || publicIp === undefined || familyOf(publicIp) !== family) return [];
    return [[base, device] as const];
  });
}

function networkId(data: unknown): string {
  return /"VNI":\s*(\d{1,8})\b/.exec(String(data))?.[1] ?? '1';
}

function addressIn({ value }: Field): Address | undefined {
  return typeof value === 'string' ? parseAddress(value) : undefined;
}
