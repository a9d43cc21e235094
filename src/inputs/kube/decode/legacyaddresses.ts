/**
 * Addresses and networks that API servers have refused since Kubernetes 1.36 in objects that are new, or where the field
 * changes (`StrictIPCIDRValidation`, KEP-4858). Before, and in objects that are there, they are read as here (N23).
 */
import {
  type Address,
  addressBits,
  cidrText,
  familyOf,
  parseAddress,
  parseCidr,
} from '../../../model/address.ts';
import type { Problem } from '../../../model/problem.ts';
import { asMap, metadataOf, typeOf } from '../report/identity.ts';
import { describe, Field, type Report } from './fields.ts';

export function legacyAddresses(object: unknown): readonly Problem[] {
  const { apiVersion, kind = '' } = typeOf(object);
  const { namespace, name } = metadataOf(object);
  const report: Report = { object: `${kind} ${namespace}/${name}`, problems: [], errors: 0 };
  const spec = new Field(asMap(object).spec, 'spec', '', report);
  if (apiVersion === 'networking.k8s.io/v1' && kind === 'NetworkPolicy') blocksIn(spec).forEach(checkNetwork);
  if (apiVersion === 'v1' && kind === 'Service') {
    listed(spec, 'loadBalancerSourceRanges').forEach(checkNetwork);
    [...listed(spec, 'clusterIPs'), ...listed(spec, 'externalIPs')].forEach(checkAddress);
  }
  return report.problems.filter(({ severity }) => severity === 'warning');
}

function listed(field: Field, key: string): readonly Field[] {
  return field.get(key).items();
}

function blocksIn(spec: Field): readonly Field[] {
  const rules = (direction: string, side: string) =>
    listed(spec, direction).flatMap(rule => listed(rule, side));
  return [...rules('ingress', 'from'), ...rules('egress', 'to')].flatMap(peer => {
    const block = peer.get('ipBlock');
    return [block.get('cidr'), ...listed(block, 'except')];
  });
}

function checkNetwork(field: Field): void {
  const text = typeof field.value === 'string' ? field.value.trim() : '';
  const cidr = parseCidr(text);
  const address = parseAddress(text.split('/')[0]!);
  if (cidr === undefined || address === undefined) return;
  const old = legacyForm(text, address);
  const read = cidrText(cidr);
  if (old !== undefined) warn(field, old, read, read);
  else if (address !== cidr.base)
    warn(
      field,
      'has bits set beyond its prefix',
      read,
      `${read}, or ${address}/${addressBits(cidr.family)} if the one address is meant`,
    );
}

function checkAddress(field: Field): void {
  const text = typeof field.value === 'string' ? field.value : '';
  const address = parseAddress(text);
  const old = address && legacyForm(text, address);
  if (old !== undefined) warn(field, old, address!, address!);
}

/** Groups of IPv6 may have leading zeros, and its prefix may not. */
function legacyForm(text: string, address: Address): string | undefined {
  const isV6 = text.includes(':');
  if (isV6 && familyOf(address) === 'ip') return 'is IPv4 in the form of IPv6';
  return (isV6 ? /\/0\d/ : /(?:^|[./])0\d/).test(text) ? 'has leading zeros' : undefined;
}

function warn(field: Field, what: string, read: string, write: string): void {
  field.warning(
    `${describe(field.value)} ${what}`,
    `it is read as ${read}, and API servers of Kubernetes 1.36 and newer refuse it in a new object: write ${write}`,
    { code: 'legacy-address', fix: { field: field.path, set: read } },
  );
}
