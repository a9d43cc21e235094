/**
 * The cost of the policies of an attack for the first packet of a connection of a pod that they select, when it is
 * allowed by the last condition of its rules. The floor is the same router without our tables.
 */
import { compile } from '../../src/compiler/compile.ts';
import { decodeObject } from '../../src/inputs/kube/decode/decode.ts';
import { type ClusterEvent, ClusterState } from '../../src/model/cluster.ts';
import type { KubeObject } from '../fakeapiserver.ts';
import { clientAddresses, localAddresses } from '../packets/cluster.ts';
import { flowsTo, type UdpFlow } from '../packets/flows.ts';
import { measure } from '../packets/rounds.ts';
import { INSIDE, OUTSIDE, type Router } from '../packets/router.ts';
import { onTestbed, type Testbed } from '../packets/testbed.ts';
import { throwAwayAccepted } from '../packets/throwaway.ts';
import { absolute, type BenchRow } from '../row.ts';
import { ATTACKS, type Attack } from './attacks.ts';
import { HOSTILE, NEIGHBOURS_NODE, pod, population, TENANT } from './population.ts';

const BUDGET_NS = 2000;
const PLAN = { rounds: 21, packets: 8192, seconds: 30 };
const FLOWS = 8192;
/** Among the ports that the attacks name, to their pods and from them: such packets go on to the peers of a port. */
const PORT = 1100;
const PORTS = 500;
const CLIENTS = 'clients';
/** Attacks whose policy is the worst part; in the others it is what is written besides. */
const OF_POLICIES: readonly Attack[] = ATTACKS.filter(attack => !('besides' in attack));

/** No rows, and a sentence on standard error, where the machine does not let us inject packets. */
export function hostilePackets(): Promise<BenchRow[]> {
  return onTestbed(false, measureAll);
}

async function measureAll(testbed: Testbed): Promise<BenchRow[]> {
  const floor = await router('no policy', testbed);
  const attacked = await attackedRouters(testbed);
  const rows: BenchRow[] = [];
  for (const entrance of [OUTSIDE, INSIDE] as const) {
    const rounds = await measure([floor, ...attacked.values()], PLAN, entrance);
    for (const [name, made] of attacked) {
      const where = entrance === OUTSIDE ? 'to' : 'from';
      const { median } = rounds.added(made, floor);
      rows.push(absolute(`${name}: new packet ${where} a pod with it`, 'ns', median, BUDGET_NS));
    }
  }
  return rows;
}

async function attackedRouters(testbed: Testbed): Promise<Map<string, Router>> {
  const attacked = new Map<string, Router>();
  for (const attack of OF_POLICIES) {
    const made = await router(attack.name, testbed);
    await made.commit(compile(clusterUnder(attack, made.uplink), NEIGHBOURS_NODE));
    attacked.set(attack.name, made);
  }
  return attacked;
}

async function router(name: string, testbed: Testbed): Promise<Router> {
  const made = await testbed.router(name, flows());
  throwAwayAccepted(made);
  return made;
}

function flows(): UdpFlow[] {
  return flowsTo(PORT, FLOWS).map((flow, i) => ({ ...flow, sourcePort: 1000 + (i % PORTS) }));
}

/** Beside the attack's policy there is one that allows traffic from and to the clients; they come by the uplink. */
function clusterUnder({ policy }: Attack, uplink: number): ClusterState {
  const state = new ClusterState();
  const local = localAddresses.map((ip, i) => pod(TENANT, `local-${i}`, NEIGHBOURS_NODE, ip, HOSTILE));
  const clients = clientAddresses.map((ip, i) => pod(CLIENTS, `client-${i}`, 'n2', ip, {}));
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: CLIENTS, labels: LABELS } };
  const objects = [...population(), namespace, ...local, ...clients, ofUdp(policy(0)), LET_THROUGH];
  for (const object of objects) {
    const { event } = decodeObject(object) as { event?: ClusterEvent };
    if (event === undefined) throw new Error(`${object.kind} ${object.metadata.name} cannot be decoded`);
    state.apply(event);
  }
  const node = { ...state.nodes.get(NEIGHBOURS_NODE)!, links: { uplinks: [uplink], podBridges: [] } };
  state.apply({ type: 'node', key: NEIGHBOURS_NODE, value: node });
  return state;
}

/** The packets are of UDP. */
function ofUdp(object: KubeObject): KubeObject {
  return JSON.parse(JSON.stringify(object).replaceAll('"TCP"', '"UDP"'));
}

const LABELS = { 'kubernetes.io/metadata.name': CLIENTS };
const ends = [{ namespaceSelector: { matchLabels: LABELS } }];

const LET_THROUGH: KubeObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'let-through', namespace: TENANT },
  spec: {
    podSelector: { matchLabels: HOSTILE },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: ends }],
    egress: [{ to: ends }],
  },
};
