/** Ports of the node that lead to its pods: converted to sets of a table, and read back from them. */
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

/** Maps protocol and port to address and port. */
export const HOST_PORTS = 'host-ports';
/** Pods that may reach themselves by a port of the node: the pod's address as source and as destination. */
export const HAIRPINS = 'hairpins';

/** The sets of host ports of one family. */
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

/** The host ports in programmed rules, of this agent or a predecessor. */
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

/** Undefined for an element that this agent would not have made. */
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
