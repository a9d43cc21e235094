/**
 * Finds the Service that a client dials, by address, port and protocol. Its size is bounded, however many Services
 * tenants make.
 */
import type { Address } from '../../model/address.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import type { Service, ServiceKey } from '../../model/service.ts';

/** The destination of a packet before its translation. */
interface Dialled {
  readonly address: Address;
  readonly port?: number;
  readonly protocol: FlowProtocol;
  /** The address is a node's: then its port may be a node port. */
  readonly isOfNode: boolean;
}

/** Returns the Service, if it is known. */
export type ServiceOf = (dialled: Dialled) => ServiceKey | undefined;

/**
 * The most addresses of a Service, besides its ClusterIPs, that are indexed: authors choose them and may choose many.
 */
const MOST_OF_ONE = 32;
const MOST_IN_ALL = 100_000;

/**
 * A ClusterIP belongs to one Service, because the API server assigns it. Addresses and node ports that authors choose
 * are looked up second, so that no author can take over the name of another's ClusterIP; if two Services claim one, it
 * names neither.
 */
export class ServiceNames {
  readonly #most: number;
  readonly #keys = new Map<ServiceKey, readonly string[]>();
  readonly #claims = new Map<string, ServiceKey | ReadonlySet<ServiceKey>>();
  #count = 0;
  /** Services for which there was no room, until they are deleted or reported again. */
  readonly #unnamed = new Set<ServiceKey>();

  constructor(most = MOST_IN_ALL) {
    this.#most = most;
  }

  get size(): number {
    return this.#keys.size;
  }

  /** There are more than are kept: some have no name. */
  get isFull(): boolean {
    return this.#unnamed.size > 0;
  }

  /** The keys of all existing Services, whether or not an address leads to them. */
  keys(): Iterable<ServiceKey> {
    return [...this.#keys.keys(), ...this.#unnamed];
  }

  put(service: Service): void {
    this.delete(service.key);
    const keys = keysOf(service);
    if (this.#count + keys.length > this.#most) {
      this.#unnamed.add(service.key);
      return;
    }
    this.#count += keys.length;
    this.#keys.set(service.key, keys);
    for (const key of keys) this.#claim(key, service.key);
  }

  delete(service: ServiceKey): void {
    this.#unnamed.delete(service);
    const keys = this.#keys.get(service);
    if (keys === undefined) return;
    this.#count -= keys.length;
    this.#keys.delete(service);
    for (const key of keys) this.#release(key, service);
  }

  readonly of: ServiceOf = ({ address, port, protocol, isOfNode }) => {
    const at = `${port}/${protocol}`;
    return this.#only(address) ?? this.#only(`${address} ${at}`) ?? (isOfNode ? this.#only(at) : undefined);
  };

  #only(key: string): ServiceKey | undefined {
    const claim = this.#claims.get(key);
    return typeof claim === 'string' ? claim : undefined;
  }

  #claim(key: string, service: ServiceKey): void {
    const others = this.#claims.get(key);
    this.#claims.set(key, others === undefined ? service : new Set([...each(others), service]));
  }

  #release(key: string, service: ServiceKey): void {
    const others = each(this.#claims.get(key) ?? []).filter(other => other !== service);
    if (others.length === 0) this.#claims.delete(key);
    else this.#claims.set(key, others.length === 1 ? others[0]! : new Set(others));
  }
}

function each(claim: ServiceKey | Iterable<ServiceKey>): ServiceKey[] {
  return typeof claim === 'string' ? [claim] : [...claim];
}

/** A ClusterIP alone; `192.0.2.1 80/TCP` of another address; `30080/TCP` of a node port. */
function keysOf({ clusterIps, externalIps, proxiedIps = [], ports }: Service): string[] {
  const chosen = new Set<string>();
  for (const { port, protocol, nodePort } of ports) {
    if (nodePort !== undefined) chosen.add(`${nodePort}/${protocol}`);
    for (const address of [...externalIps, ...proxiedIps]) chosen.add(`${address} ${port}/${protocol}`);
    if (chosen.size >= MOST_OF_ONE) break;
  }
  return [...new Set(clusterIps.slice(0, MOST_OF_ONE)), ...[...chosen].slice(0, MOST_OF_ONE)];
}
