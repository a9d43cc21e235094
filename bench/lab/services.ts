/**
 * Service-like address translation in the nodes, as kube-proxy would make it, in tables of its own: policy sees
 * the translated packet (N61). This needs the nft program; the agent never does.
 */
import { execFileSync } from 'node:child_process';
import { type Address, FAMILIES, type Family, familyOf } from '../../src/model/address.ts';
import type { Lab } from './lab.ts';
import { inNamespace } from './netns.ts';
import type { ProbeEndpoint } from './probe/attempt.ts';
import type { LabHost } from './topology.ts';

export interface LabService {
  /** Its cluster IP and port; no interface has that address. */
  readonly front: ProbeEndpoint;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly back: ProbeEndpoint;
}

/** Replaces all services of a laboratory, in every node. */
export function installServices(lab: Lab, services: readonly LabService[]): void {
  for (const node of lab.topology.nodes) {
    const input = FAMILIES.map(family => tableText(family, node, services)).join('\n');
    inNamespace(lab.nodeNamespace(node.name), () => execFileSync('nft', ['-f', '-'], { input }));
  }
}

function tableText(family: Family, node: LabHost, services: readonly LabService[]): string {
  const ours = services.filter(({ back }) => familyOf(back.address) === family);
  return `table ${family} lab-services
delete table ${family} lab-services
table ${family} lab-services {
  chain prerouting {
    type nat hook prerouting priority dstnat; policy accept;
    ${ours.map(translation).join('\n    ')}
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ${ours.flatMap(({ back }) => hairpin(family, node, back.address)).join('\n    ')}
  }
}`;
}

function translation({ front, protocol, back }: LabService): string {
  const family = familyOf(front.address);
  return `${family} daddr ${front.address} ${protocol.toLowerCase()} dport ${front.port} dnat to ${hostPort(back)}`;
}

// A pod that reaches itself would drop packets from its own address: they get the node's, behind the policy.
function hairpin(family: Family, node: LabHost, pod: Address): string[] {
  const own = node.addresses.find(address => familyOf(address) === family);
  return own === undefined ? [] : [`${family} saddr ${pod} ${family} daddr ${pod} snat to ${own}`];
}

function hostPort({ address, port }: ProbeEndpoint): string {
  return familyOf(address) === 'ip' ? `${address}:${port}` : `[${address}]:${port}`;
}
