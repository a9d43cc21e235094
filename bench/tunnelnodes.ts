/** What a node that joins costs the agent of another, where all nodes send from tunnels (N75). */
import { Incremental } from '../src/compiler/live/incremental.ts';
import { addressFromInt, networkOf } from '../src/model/address.ts';
import type { ClusterEvent, Node } from '../src/model/cluster.ts';
import type { Policy } from '../src/model/policy.ts';
import { EVERYTHING } from '../src/model/selector.ts';
import { applied, plan } from '../src/nft/plan/plan.ts';
import type { Ruleset } from '../src/nft/ruleset.ts';
import { benchCluster, NODE, policyEvent } from './cluster.ts';
import { absolute, type BenchRow, median } from './row.ts';
import { times } from './times.ts';

const NODES = 1000;
const POLICIES = 1000;
const NAMESPACES = 100;
const JOINS = 200;

export async function benchTunnelNodes(): Promise<BenchRow[]> {
  const rules = new Rules();
  rules.follow(
    ...benchCluster({ pods: 1000, policies: 0 }),
    ...times(NODES, i => nodeEvent(i)),
    ...times(POLICIES, i => policyEvent(lettingIn(i))),
  );
  joins(rules, i => 2 * NODES + i); // until everything is compiled
  const others = joins(rules, i => NODES + i);
  const named = joins(rules, i => (i * 7) % NODES);
  const name = 'a node with a tunnel joins 1,000, beside 1,000 policies with an ipBlock';
  return [
    absolute(name, 'ms', median(others), 1),
    absolute(`${name}, of which one has its address`, 'ms', median(named), 5),
  ];
}

/** What the agent computes for events: the desired state, and the difference to the actual one. */
class Rules {
  readonly #engine = new Incremental(NODE);
  #actual: Ruleset = { tables: new Map() };
  #desired: Ruleset | undefined;

  /** Milliseconds of that. */
  follow(...events: readonly ClusterEvent[]): number {
    const startMs = performance.now();
    for (const event of events) this.#engine.apply(event);
    const desired = this.#engine.flush();
    plan(this.#actual, desired, this.#desired);
    const tookMs = performance.now() - startMs;
    this.#actual = applied(this.#actual, desired, this.#desired);
    this.#desired = desired;
    return tookMs;
  }
}

/** Nodes leave, if they were there, and join. */
function joins(rules: Rules, numberOf: (i: number) => number): number[] {
  return times(JOINS, numberOf).map(number => {
    const { type, key, value } = nodeEvent(number);
    rules.follow({ type, key });
    return rules.follow({ type, key, value });
  });
}

function nodeEvent(i: number): { type: 'node'; key: string; value: Node } & ClusterEvent {
  const [address, podNetwork] = [addressOf(i), (100n << 24n) + BigInt(i << 8)];
  const tunnel = addressFromInt('ip', podNetwork);
  const name = `joining-${i}`;
  const value: Node = {
    name,
    labels: {},
    addresses: [address],
    podCidrs: [`${tunnel}/24`],
    tunnelAddresses: [tunnel],
  };
  return { type: 'node', key: name, value };
}

function addressOf(i: number) {
  return addressFromInt('ip', (172n << 24n) + (16n << 16n) + BigInt(i));
}

/** Lets in one node on one port. */
function lettingIn(i: number): Policy {
  const namespace = `ns-${i % NAMESPACES}`;
  const cidr = networkOf(addressOf(i), 32);
  return {
    id: `NetworkPolicy ${namespace}/node-${i}`,
    kind: 'NetworkPolicy',
    name: `${namespace}/node-${i}`,
    tier: 'networkpolicy',
    order: 0,
    subject: { namespaces: { kind: 'name', name: namespace }, pods: EVERYTHING },
    ingress: [
      {
        path: 'ingress[0]',
        action: 'accept',
        peers: [{ kind: 'network', cidr, except: [] }],
        ports: [{ kind: 'range', protocol: 'TCP', first: 8443, last: 8443 }],
      },
    ],
  };
}
