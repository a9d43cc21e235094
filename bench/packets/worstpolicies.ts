/**
 * The first packet of a connection that a policy denies, of the largest policies there are: it has found its way past
 * all that they say. The floor is a pod that is isolated and allows nothing.
 */
import { compile } from '../../src/compiler/compile.ts';
import { decodeObject } from '../../src/inputs/kube/decode/decode.ts';
import type { Policy } from '../../src/model/policy.ts';
import { NODE } from '../cluster.ts';
import { absolute, type BenchRow } from '../row.ts';
import { packetCluster } from './cluster.ts';
import { flowsTo } from './flows.ts';
import { logRounds, measure } from './rounds.ts';
import type { Router } from './router.ts';
import type { Testbed } from './testbed.ts';

const PLAN = { rounds: 15, packets: 8_192, seconds: 60 };
const FLOWS = 8_192;
const MOST_NS = 2_000;

/** By name, the NetworkPolicy objects to measure; they are turned to ingress and UDP, as the injected packets are. */
export async function worstPolicies(
  policies: ReadonlyMap<string, object>,
  testbed: Testbed,
): Promise<BenchRow[]> {
  const floor = await programmed('isolated', undefined, testbed);
  const routers = new Map<string, Router>();
  for (const [name, policy] of policies) routers.set(name, await programmed(name, policy, testbed));
  const rounds = await measure([floor, ...routers.values()], PLAN);
  logRounds(rounds, floor, testbed.log);
  return [...routers].map(([name, router]) =>
    absolute(`packet: ${name}`, 'ns', rounds.added(router, floor).median, MOST_NS),
  );
}

async function programmed(name: string, policy: object | undefined, testbed: Testbed): Promise<Router> {
  const cluster = packetCluster({ classes: 1, policies: 0 });
  const isolated = { policyTypes: ['Ingress'], ingress: [] };
  const decoded = [policyOf(isolated), ...(policy === undefined ? [] : [policyOf(inboundUdp(policy))])];
  for (const value of decoded) cluster.apply({ type: 'policy', key: value.id, value });
  const made = await testbed.router(name, flowsTo(telling(decoded.at(-1)!), FLOWS));
  await made.commit(compile(cluster, NODE));
  return made;
}

function policyOf(spec: object): Policy {
  const metadata = {
    namespace: 'local-0',
    name: 'ingress' in spec && (spec.ingress as object[]).length > 0 ? 'x' : 'isolated',
  };
  const object = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata,
    spec: { podSelector: {}, ...spec },
  };
  return decodeObject(object).event!.value as Policy;
}

interface Rule {
  readonly ports?: readonly object[];
  readonly from?: readonly object[];
  readonly to?: readonly object[];
}

/** The rules of the policy for the other direction and for TCP. */
function inboundUdp(policy: object): object {
  const { ingress, egress } = (policy as { spec: { ingress?: Rule[]; egress?: Rule[] } }).spec;
  return {
    policyTypes: ['Ingress'],
    ingress: (ingress ?? egress ?? []).map(({ ports, from, to }) => ({
      ...(ports !== undefined && { ports: ports.map(port => ({ ...port, protocol: 'UDP' })) }),
      // Rules that allow all sources would need no lookup.
      from: from ?? to ?? [{ ipBlock: { cidr: '192.0.2.0/24' } }],
    })),
  };
}

/** A port in the middle of those that the policy is about. */
function telling({ ingress = [] }: Policy): number {
  const ports = ingress.flatMap(({ ports }) => (ports === 'any' ? [] : ports));
  const middle = ports[ports.length >> 1];
  if (middle?.kind !== 'range') return 80;
  return (middle.first + middle.last) >> 1;
}
