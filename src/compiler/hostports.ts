/** Ports of the node that lead to its pods, as sets of a table and back. */
import { FAMILIES, type Family, familyOf, parseAddress } from '../model/address.ts';
import { type HostPortMapping, ownerText } from '../model/hostport.ts';
import type { Protocol } from '../model/policy.ts';
import { addressType } from '../nft/match.ts';
import { specsEqual } from '../nft/plan/equal.ts';
import {
  type ElementKey,
  type ElementValue,
  MEMBER,
  type NftSet,
  type Ruleset,
  type SetSpec,
} from '../nft/ruleset.ts';

/** Leads from protocol and port to address and port. */
export const HOST_PORTS = 'host-ports';
/** Pods that may reach themselves by a port of the node, each beside itself: as source and destination. */
export const HAIRPINS = 'hairpins';

/** Of one family. */
export function hostPortSets(family: Family, mappings: Iterable<HostPortMapping>): NftSet[] {
  const ports = new Map<ElementKey, ElementValue>();
  const hairpins = new Map<ElementKey, ElementValue>();
  for (const { protocol, hostPort, pod, podPort, owner } of mappings) {
    if (familyOf(pod) !== family) continue;
    ports.set(`${protocol.toLowerCase()} . ${hostPort}`, { data: `${pod} . ${podPort}`, comment: owner });
    hairpins.set(`${pod} . ${pod}`, MEMBER);
  }
  const address = addressType(family);
  return [
    { ...hostPortMap(family), elements: ports },
    { name: HAIRPINS, key: [address, address], verdicts: false, interval: false, elements: hairpins },
  ];
}

/** What a kernel's rules say: our own, or a predecessor's. */
export function hostPortsIn({ tables }: Ruleset): HostPortMapping[] {
  return FAMILIES.flatMap(family => {
    const spec = hostPortMap(family);
    const map = tables.get(family)?.sets.get(spec.name);
    return map === undefined || !specsEqual(map, spec) ? [] : mappingsOf(map);
  });
}

function mappingsOf({ elements }: NftSet): HostPortMapping[] {
  return [...elements].flatMap(mappingOf);
}

const PROTOCOLS: Readonly<Record<string, Protocol>> = { tcp: 'TCP', udp: 'UDP', sctp: 'SCTP' };

/** None of an element that we would not have made. */
function mappingOf([key, { data = '', comment = '' }]: readonly [
  ElementKey,
  ElementValue,
]): HostPortMapping[] {
  const [protocol, hostPort] = key.split(' . ');
  const [address, podPort] = data.split(' . ');
  const [known, pod] = [PROTOCOLS[protocol ?? ''], parseAddress(address ?? '')];
  if (known === undefined || pod === undefined) return [];
  return [
    { protocol: known, hostPort: Number(hostPort), pod, podPort: Number(podPort), owner: ownerText(comment) },
  ];
}

function hostPortMap(family: Family): SetSpec {
  return {
    name: HOST_PORTS,
    key: ['inet_proto', 'inet_service'],
    verdicts: false,
    data: [addressType(family), 'inet_service'],
    interval: false,
  };
}
