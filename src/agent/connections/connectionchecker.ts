/**
 * Judges open connections by the rules themselves: a connection is denied if the class of a local pod at either end
 * would drop its first packet now. The cost depends on the rules that this packet would meet, not on the number of
 * policies, rules and peers from which they were compiled.
 */
import { podMap } from '../../compiler/base.ts';
import { INGRESS_CHAIN } from '../../compiler/program.ts';
import { TUNNEL_CHAINS, TUNNEL_SETS } from '../../compiler/tunnelsin.ts';
import { classChain } from '../../compiler/unknownpods.ts';
import { slotOf } from '../../lib/collections/placeof.ts';
import { textHash } from '../../lib/text/texthash.ts';
import { type Address, familyOf } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import type { Direction } from '../../model/policy.ts';
import { TUNNEL_PROTOCOLS } from '../../model/tunnels.ts';
import type { Ruleset, Table } from '../../nft/ruleset.ts';
import { Machine } from '../../nft/trace/machine.ts';
import { packet } from '../../nft/trace/packet.ts';
import { verdictFrom } from '../../nft/trace/trace.ts';

const NONE: ReadonlySet<Address> = new Set();

export class ConnectionChecker {
  readonly #ruleset: Ruleset;
  readonly #own: () => ReadonlySet<Address>;
  readonly #known = new VerdictCache();
  readonly #localPods: () => ReadonlySet<Address>;
  judged = 0;

  /**
   * `own` are the addresses of the node itself: most scans find no connection to judge, and to list them takes longer
   * the more pods the node has. Those of its pods are asked for where a connection is one of a tunnel.
   */
  constructor(
    ruleset: Ruleset,
    own: () => ReadonlySet<Address>,
    localPods: () => ReadonlySet<Address> = () => NONE,
  ) {
    this.#ruleset = ruleset;
    this.#own = own;
    this.#localPods = localPods;
  }

  /**
   * Whether the class of a local pod denies it, or it goes from a pod into a tunnel; classes do not judge packets that
   * only pass through the node.
   */
  denies(flow: Flow): boolean {
    const { from, to, viaService } = flow;
    const table = this.#ruleset.tables.get(familyOf(from));
    if (table === undefined || (from === to && !viaService)) return false; // Never leaves its pod.
    if (this.#leadsIntoTunnel(table, flow)) return true;
    const chains = this.#chains(table, flow);
    if (chains.length === 0) return false;
    this.judged++;
    const known = this.#known.denies(flow);
    if (known !== undefined) return known;
    const machine = new Machine(table, familyOf(from), 'forward', packet(flow), 'new');
    const denied = chains.some(chain => verdictFrom(table, chain, machine, INGRESS_CHAIN) === 'drop');
    this.#known.set(flow, denied);
    return denied;
  }

  /** N72: it was open before the rules that keep pods from the tunnels of nodes. */
  #leadsIntoTunnel(table: Table, flow: Flow): boolean {
    if (!isLedToTunnels(table, flow)) return false;
    const isAtNode = this.#own().has(flow.to);
    const isOfLocalPod = this.#localPods().has(flow.from);
    if (isAtNode && isOfLocalPod) return table.chains.has(TUNNEL_CHAINS.from);
    if (!isAtNode && !isOfLocalPod) return false;
    const chain = isAtNode ? TUNNEL_CHAINS.here : TUNNEL_CHAINS.from;
    if (!table.chains.has(chain)) return false;
    const machine = new Machine(
      table,
      familyOf(flow.from),
      isAtNode ? 'input' : 'forward',
      packet(flow),
      'new',
    );
    return verdictFrom(table, chain, machine, INGRESS_CHAIN) === 'drop';
  }

  /** The chains that its first packet reaches: those of the source pod, and those of the destination pod. */
  #chains(table: Table, { from, to }: Flow): string[] {
    const egress = classAt(table, 'egress', from);
    const ingress = this.#own().has(from) ? undefined : classAt(table, 'ingress', to); // N43
    return [egress, ingress].filter(chain => chain !== undefined);
  }
}

/** Whether the destination port or the protocol is one of a tunnel. */
function isLedToTunnels({ sets }: Table, { protocol, port }: Flow): boolean {
  if (protocol === 'UDP') return sets.get(TUNNEL_SETS.ports)?.elements.has(String(port)) === true;
  return typeof protocol === 'number' && TUNNEL_PROTOCOLS.includes(protocol);
}

function classAt({ sets }: Table, direction: Direction, address: Address): string | undefined {
  const element = sets.get(podMap(direction, familyOf(address)).name)?.elements.get(address);
  return element && classChain(element);
}

/**
 * Whether flows are denied, of those that were judged last. Each has one place, which the next one that comes there takes:
 * of connections between the same ends, to the same port, there may be thousands, and of others a hundred thousand, which
 * are to cost no more than to be judged.
 */
const PLACE_BITS = 12;

export class VerdictCache {
  /** Made for the first connection: most scans find none to judge. */
  #flows: (Flow | undefined)[] | undefined;
  readonly #denied = new Uint8Array(1 << PLACE_BITS);

  /** Undefined where it is not known. */
  denies(flow: Flow): boolean | undefined {
    const place = placeIn(flow);
    const known = this.#flows?.[place];
    return known !== undefined && isSame(known, flow) ? this.#denied[place] === 1 : undefined;
  }

  set(flow: Flow, denied: boolean): void {
    const place = placeIn(flow);
    this.#flows ??= Array.from<Flow | undefined>({ length: 1 << PLACE_BITS });
    this.#flows[place] = flow;
    this.#denied[place] = denied ? 1 : 0;
  }
}

function isSame(a: Flow, b: Flow): boolean {
  return a.port === b.port && a.protocol === b.protocol && a.from === b.from && a.to === b.to;
}

function placeIn({ from, to, port = 0 }: Flow): number {
  return slotOf(textHash(to, textHash(from, port)), PLACE_BITS);
}
