/** Commands to try in a demo that stays: each is one line of a shell, and asks the agent that knows. */

import pc from '../../src/terminal/colours.ts';
import { writeDocument } from '../../src/terminal/output.ts';
import type { Topology } from '../lab/topology.ts';
import { demoSocket } from './agents.ts';

export interface HintPlaces {
  readonly topology: Topology;
  /** The network namespace of a node. */
  readonly namespaceOf: (node: string) => string;
  readonly sluice: string;
  readonly home: string;
  readonly manifests: string;
}

/** The commands are never wrapped: half a command would be another command. */
export function showHints(places: HintPlaces): void {
  writeDocument(hintsFor(places).map(text => `  ${pc.cyan(text)}`));
}

export function hintsFor({ topology, namespaceOf, sluice, home, manifests }: HintPlaces): readonly string[] {
  const node = topology.nodes[0]!.name;
  const inNode = `ip netns exec ${namespaceOf(node)}`;
  const socketOf = (name: string) => `--socket ${demoSocket(name, home)}`;
  /** Only the agent of a pod's node knows the DNS answers of the pod and the denied connections to it. */
  const asPod = (pod: string) => socketOf(topology.pods.find(({ name }) => name === pod)!.node);
  return [
    `${inNode} nft list table ip sluice`,
    `${sluice} status ${socketOf(node)}`,
    `${sluice} explain shop/api mail.example.com:587 ${asPod('shop/api')}`,
    `${sluice} explain monitoring/prometheus shop/db:9187 ${asPod('monitoring/prometheus')}`,
    `${sluice} drops ${asPod('shop/db')}`,
    `${sluice} flows --for 30s ${asPod('shop/api')}`,
    `${inNode} ${sluice} trace shop/api shop/db:5432 --node ${node} --manifests ${manifests}`,
    `${inNode} ${sluice} inspect --node ${node} --manifests ${manifests}`,
    `vi ${manifests}/policies.yaml; scripts/demo --again`,
    `tail -f ${home}/${node}.log`,
    'scripts/demo --remove',
  ];
}
