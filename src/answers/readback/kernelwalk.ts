/**
 * The verdict of the programmed rules on a flow, in terms of pods: a walk through these rules, not through the desired
 * state.
 */

import { podMap } from '../../compiler/base.ts';
import { isDenialChain } from '../../compiler/denied.ts';
import { classChain } from '../../compiler/unknownpods.ts';
import { type Address, FAMILIES, type Family, familyOf } from '../../model/address.ts';
import { ClusterState, type PodKey } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { Direction } from '../../model/policy.ts';
import { formatRule, formatVerdict } from '../../nft/format/rule.ts';
import type { BaseHook, Elements, ElementValue, Ruleset } from '../../nft/ruleset.ts';
import { packet } from '../../nft/trace/packet.ts';
import { type Hit, trace } from '../../nft/trace/trace.ts';

export type Hook = Extract<BaseHook['hook'], 'forward' | 'input' | 'output'>;

export interface KernelWalk {
  readonly hook: Hook;
  readonly verdict: 'accept' | 'drop';
  readonly from: WalkEnd;
  readonly to: WalkEnd;
  /** The rules that gave the first packet a verdict, in the order in which it met them. */
  readonly steps: readonly Step[];
}

export interface WalkEnd {
  readonly address: Address;
  /** The pod, as the rules name it. */
  readonly pod?: string;
  /** Its classes; absent for a direction in which it has no rules. */
  readonly egress?: string;
  readonly ingress?: string;
}

export interface Step {
  readonly chain: string;
  /** The rule as nft prints it, without the comment. */
  readonly rule: string;
  readonly comment?: string;
  /** `goto in-…`, also where an element of a map has it. */
  readonly verdict?: string;
}

/**
 * `own` are the addresses of the node that has these rules. `isPodHere` says whether an address is a pod of this node.
 * The rules alone do not show that, because they name only pods that policies select, and packets from a pod meet rules
 * that no other packet meets.
 */
export function walkKernel(
  ruleset: Ruleset,
  flow: Flow,
  own: ReadonlySet<Address>,
  isPodHere: (address: Address) => boolean = () => false,
): KernelWalk {
  const family = familyOf(flow.from);
  const hook = hookOf(flow, own);
  const from = endOf(ruleset, flow.from);
  // A source that is linked with the node differently from its pods is in none of the maps by interface name.
  const byPodLink = hook !== 'output' && (from.pod !== undefined || isPodHere(flow.from));
  const around = byPodLink ? POD_LINK : {};
  const { verdict, hits } = trace(ruleset, family, hook, packet(flow), 'new', around);
  // A chain of denials only counts and names the packet; the step that led there has decided.
  const deciding = hits.filter(({ chain }) => !isDenialChain(chain));
  const steps = deciding.map(hit => stepOf(ruleset, family, hit));
  return { hook, verdict, from, to: endOf(ruleset, flow.to), steps };
}

/** An interface that is no uplink of any node. */
const POD_LINK = { iifkind: 'veth', iif: 0x7fffffff } as const;

function hookOf({ from, to }: Flow, own: ReadonlySet<Address>): Hook {
  if (own.has(from)) return 'output';
  return own.has(to) ? 'input' : 'forward';
}

function stepOf(ruleset: Ruleset, family: Family, { chain, rule, comment, verdict, element }: Hit): Step {
  const exprs = ruleset.tables.get(family)!.chains.get(chain)!.rules[rule]!.exprs;
  const why = comment ?? element?.comment;
  return {
    chain,
    rule: formatRule(family, { exprs }),
    ...(why !== undefined && { comment: why }),
    ...(verdict !== undefined && { verdict: formatVerdict(verdict) }),
  };
}

function endOf(ruleset: Ruleset, address: Address): WalkEnd {
  const [egress, ingress] = (['egress', 'ingress'] as const).map(direction =>
    elementOf(ruleset, direction, address),
  );
  const pod = egress?.comment ?? ingress?.comment;
  return {
    address,
    ...(pod !== undefined && { pod }),
    ...classes(egress, ingress),
  };
}

function elementOf(ruleset: Ruleset, direction: Direction, address: Address): ElementValue | undefined {
  return podsIn(ruleset, direction, familyOf(address)).get(address);
}

function podsIn({ tables }: Ruleset, direction: Direction, family: Family): Elements {
  return tables.get(family)?.sets.get(podMap(direction, family).name)?.elements ?? new Map();
}

function classes(egress?: ElementValue, ingress?: ElementValue): Pick<WalkEnd, 'egress' | 'ingress'> {
  const [out, into] = [egress && classChain(egress), ingress && classChain(ingress)];
  return { ...(out !== undefined && { egress: out }), ...(into !== undefined && { ingress: into }) };
}

/**
 * The pods whose names the rules hold: those that policies select, or all of the node. Good for names and addresses,
 * and no more.
 */
export function namedPods(ruleset: Ruleset): ClusterState {
  const cluster = new ClusterState();
  for (const family of FAMILIES)
    for (const direction of ['egress', 'ingress'] as const)
      for (const [address, { comment }] of podsIn(ruleset, direction, family))
        if (comment !== undefined) addAddress(cluster, comment as PodKey, address as Address);
  return cluster;
}

function addAddress(cluster: ClusterState, key: PodKey, address: Address): void {
  const [namespace = '', name = ''] = key.split('/');
  const known = cluster.pods.get(key)?.addresses ?? [];
  const addresses = known.includes(address) ? known : [...known, address];
  const rest = { labels: {}, node: '', hostNetwork: false, finished: false, createdAt: '', ports: [] };
  cluster.apply({ type: 'pod', key, value: { key, namespace, name, addresses, ...rest } });
}
