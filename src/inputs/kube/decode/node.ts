import { type Address, cidrText, parseAddress, parseCidr } from '../../../model/address.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import type { Field } from './fields.ts';
import { readLabels, readName } from './metadata.ts';

export function decodeNode(object: Field): ClusterEvent | undefined {
  const identity = object.attempt('the node stays as it was last known', node => ({
    name: readName(node),
    labels: readLabels(node),
  }));
  const { name, labels } = identity.value;
  if (name === undefined || !identity.clean) return undefined;
  const addresses = readAddresses(object.get('status').get('addresses'));
  return {
    type: 'node',
    key: name,
    value: { name, labels, addresses, podCidrs: readPodCidrs(object.get('spec')) },
  };
}

/** A node says of itself what they are, and every agent keeps them. */
const MOST_ADDRESSES = 64;

/** 4.22: every entry that is an IP, whatever its type; a Hostname or DNS name is none. */
function readAddresses(list: Field): readonly Address[] {
  const items = list.withEffect('the node has no address').items();
  if (items.length > MOST_ADDRESSES)
    list
      .withEffect(`the node has the first ${MOST_ADDRESSES}`)
      .error(`has ${items.length} entries, and ${MOST_ADDRESSES} are the most`);
  const addresses = items
    .slice(0, MOST_ADDRESSES)
    .map(item => item.get('address').value)
    .map(address => (typeof address === 'string' ? parseAddress(address) : undefined));
  return [...new Set(addresses.filter(address => address !== undefined))];
}

function readPodCidrs(spec: Field): readonly string[] {
  const effect = 'the network is not known to be one of pods';
  const listed = spec.get('podCIDRs').withEffect(effect).items();
  const fields = listed.length > 0 ? listed : [spec.get('podCIDR').withEffect(effect)];
  return fields
    .filter(field => field.isPresent && field.value !== '')
    .map(field => field.parsed('a network', parseCidr))
    .filter(cidr => cidr !== undefined)
    .map(cidrText);
}
