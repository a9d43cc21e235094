import {
  addressBits,
  type Cidr,
  familyOf,
  networkOf,
  parseAddress,
  parseCidr,
} from '../../../model/address.ts';
import { asMap, typeOf } from '../report/identity.ts';

/**
 * The addresses that a Service or a ServiceCIDR gives to Services; none for any other object. They decide
 * nothing, because policy sees packets after DNAT (N61), but people write them into policies.
 */
export function serviceNetworks(object: unknown): readonly Cidr[] {
  const { apiVersion, kind } = typeOf(object);
  const spec = asMap(asMap(object).spec);
  switch (`${apiVersion} ${kind}`) {
    case 'v1 Service':
      return texts(spec.clusterIPs ?? [spec.clusterIP]).flatMap(text => hostNetwork(text) ?? []);
    case 'networking.k8s.io/v1 ServiceCIDR':
      return texts(spec.cidrs).flatMap(text => parseCidr(text) ?? []);
    default:
      return [];
  }
}

function texts(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter(item => typeof item === 'string') : [];
}

/** The address as a network; undefined for `None`, which a headless Service has. */
function hostNetwork(text: string): Cidr | undefined {
  const address = parseAddress(text);
  return address && networkOf(address, addressBits(familyOf(address)));
}
