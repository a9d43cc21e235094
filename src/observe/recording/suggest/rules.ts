/** Rules of a NetworkPolicy for peers and the ports of each: peers that have the same ports share a rule. */
import { getOrMake } from '../../../lib/collections/getormake.ts';
import type { Protocol } from '../../../model/policy.ts';

export type PeerObject = Readonly<Record<string, object>>;

export interface PortObject {
  readonly protocol: Protocol;
  readonly port: number;
  readonly endPort?: number;
}

export interface RuleObject {
  readonly peers: readonly PeerObject[];
  readonly ports: readonly PortObject[];
}

export class Rules {
  readonly #peers = new Map<string, { readonly peer: PeerObject; readonly ports: Set<string> }>();

  add(peer: PeerObject, protocol: Protocol, port: number): void {
    const key = JSON.stringify(peer);
    getOrMake(this.#peers, key, () => ({ peer, ports: new Set() })).ports.add(`${protocol} ${port}`);
  }

  /** In one order, however the connections came. */
  rules(): RuleObject[] {
    const sorted = [...this.#peers].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
    const byPorts = new Map<string, typeof sorted>();
    for (const each of sorted) {
      const key = JSON.stringify(portsOf(each.ports)); // By hand: Node 20 has nothing that groups.
      getOrMake(byPorts, key, () => []).push(each);
    }
    return [...byPorts.values()].map(peers => ({
      peers: peers.map(({ peer }) => peer),
      ports: portsOf(peers[0]!.ports),
    }));
  }
}

/** Neighbours as ranges. */
function portsOf(texts: ReadonlySet<string>): PortObject[] {
  const ports = [...texts]
    .map(text => text.split(' ') as [Protocol, string])
    .map(([protocol, port]) => ({ protocol, port: Number(port) }))
    .sort((a, b) => (a.protocol < b.protocol ? -1 : a.protocol > b.protocol ? 1 : a.port - b.port));
  const runs: { protocol: Protocol; port: number; last: number }[] = [];
  for (const { protocol, port } of ports) {
    const run = runs.at(-1);
    if (run?.protocol === protocol && run.last + 1 === port) run.last = port;
    else runs.push({ protocol, port, last: port });
  }
  return runs.map(({ protocol, port, last }) => ({
    protocol,
    port,
    ...(last > port && { endPort: last }),
  }));
}
