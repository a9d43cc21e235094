/** New connections by the names of their ends, and whose policy judges them here. */

import { type Address, cidrContains, type Family, familyOf } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import type { Direction } from '../../model/policy.ts';
import { workloadByLabels } from '../../model/workloadbylabels.ts';
import type { DialledService } from '../denials/denial.ts';
import type { ModelView } from '../denials/modelview.ts';
import { dialledService, namedEnd, resolvedNames } from '../denials/name.ts';
import type { ServiceOf } from '../denials/servicenames.ts';
import type { FlowEnd, SeenFlow } from './seenflow.ts';

/** A new connection as the kernel reports it. */
export interface TrackedFlow {
  readonly flow: Flow;
  readonly sourcePort?: number;
  readonly icmp?: { readonly type: number; readonly code: number };
  /** The Service that was dialled, if the destination was translated. */
  readonly dialled?: DialledService;
}

/** The parts of a flow except its time and its number. */
export type NamedFlow = Omit<SeenFlow, 'number' | 'atMs'>;

interface KnownEnd {
  readonly end: FlowEnd;
  /** Whether the end is a pod of this node, or has an address of its pods. */
  readonly isHere: boolean;
  readonly family: Family;
}

export interface NamerOptions {
  /** Returns the Service that was dialled, if it is known. */
  readonly serviceOf?: ServiceOf | undefined;
  /** The addresses of this node's interfaces, also those in the networks of its pods. */
  readonly ownAddresses?: ReadonlySet<Address>;
}

/** Names a batch of connections, with a cache by address for that batch. */
export class Namer {
  readonly #view: ModelView;
  readonly #serviceOf: ServiceOf;
  readonly #ownAddresses: ReadonlySet<Address>;
  readonly #known = new Map<Address, KnownEnd>();

  constructor(view: ModelView, { serviceOf = () => undefined, ownAddresses = new Set() }: NamerOptions = {}) {
    this.#view = view;
    this.#serviceOf = serviceOf;
    this.#ownAddresses = ownAddresses;
  }

  /** Undefined where neither end is a pod of this node. */
  name({ flow, sourcePort, icmp, dialled }: TrackedFlow): NamedFlow | undefined {
    const { protocol, port } = flow;
    const [from, to] = [this.#endOf(flow.from), this.#endOf(flow.to)];
    if (!from.isHere && !to.isHere) return undefined;
    const service = dialledService(
      { head: flow, ...(dialled !== undefined && { dialled }) },
      this.#view,
      this.#serviceOf,
    );
    return {
      from: from.end,
      to: to.end,
      protocol,
      ...(sourcePort !== undefined && { sourcePort }),
      ...(port !== undefined && { port }),
      ...(icmp !== undefined && { icmp }),
      ...(service !== undefined && { service }),
      ...resolvedNames({ from: from.end, to: to.end }, this.#view),
      directions: directionsOf(from, to),
      family: from.family,
    };
  }

  #endOf(address: Address): KnownEnd {
    const known = this.#known.get(address) ?? this.#find(address);
    this.#known.set(address, known);
    return known;
  }

  #find(address: Address): KnownEnd {
    if (!this.#ownAddresses.has(address)) return knownEnd(address, this.#view);
    return { end: { address, node: this.#view.node }, isHere: false, family: familyOf(address) };
  }
}

function directionsOf(from: KnownEnd, to: KnownEnd): readonly Direction[] {
  if (from.isHere) return to.isHere ? BOTH : EGRESS;
  return INGRESS;
}

const BOTH: readonly Direction[] = ['egress', 'ingress'];
const EGRESS: readonly Direction[] = ['egress'];
const INGRESS: readonly Direction[] = ['ingress'];

function knownEnd(address: Address, view: ModelView): KnownEnd {
  const pod = view.ownerOf(address) ?? view.formerOwnerOf(address)?.pod;
  const workload = pod && workloadByLabels(pod);
  const end = { ...namedEnd(address, view), ...(workload !== undefined && { workload }) };
  const isHere = pod === undefined ? isOfOurPods(address, view) : pod.node === view.node;
  return { end, isHere, family: familyOf(address) };
}

/** Whether the address is in this node's pod networks, also where no known pod has it. */
function isOfOurPods(address: Address, view: ModelView): boolean {
  const own = podCidrsOf(view.cluster.nodes.get(view.node));
  return view.nodeWith(address) === undefined && own.some(cidr => cidrContains(cidr, address));
}
