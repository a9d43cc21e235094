/**
 * How many set members the NetworkPolicies of one namespace may need, and those of all namespaces together. A policy's
 * text does not bound them: a selector of one line may select every pod of the cluster, and rules that have peers in
 * common need a set for each combination of them.
 */
import { getOrMake } from '../../../lib/collections/getormake.ts';

/** In members of sets of both families: each takes some 30 bytes in the agent and 94 in the kernel. */
export interface SetQuota {
  readonly ofNamespace: number;
  /** The limit for all namespaces together. Beyond it, a namespace may still have an equal share of it. */
  readonly ofAll: number;
}

export const SET_QUOTA: SetQuota = { ofNamespace: 1_000_000, ofAll: 2_000_000 };

/** What the policies of a namespace need: a namespace without sets has no entry. */
interface Tenant {
  sets: number;
  members: number;
}

export class SetQuotaLedger {
  readonly #room: SetQuota;
  readonly #tenants = new Map<string, Tenant>();
  /** The members of all sets that a namespace needs; a set that several namespaces need counts once. */
  #members = 0;
  /** What each namespace needed when the quota was last kept, for namespaces whose needs may have changed since. */
  readonly #before = new Map<string, number>();
  readonly #changed = new Set<string>();

  constructor(room: SetQuota) {
    this.#room = room;
  }

  /** A set that these namespaces need has grown by so many members. */
  grow(more: number, namespaces: ReadonlyMap<string, unknown>): void {
    if (namespaces.size > 0) this.#members += more;
    for (const namespace of namespaces.keys()) {
      this.#tenants.get(namespace)!.members += more;
      this.#changed.add(namespace);
    }
  }

  /** The namespace needs a set with so many members from now on; `others` says how many other namespaces need it. */
  join(namespace: string, members: number, others: number): void {
    const tenant = getOrMake(this.#tenants, namespace, () => ({ sets: 0, members: 0 }));
    tenant.sets++;
    tenant.members += members;
    this.#changed.add(namespace);
    if (others === 0) this.#members += members;
  }

  leave(namespace: string, members: number, others: number): void {
    const tenant = this.#tenants.get(namespace)!;
    tenant.sets--;
    tenant.members -= members;
    this.#changed.add(namespace);
    if (tenant.sets === 0) this.#tenants.delete(namespace);
    if (others === 0) this.#members -= members;
  }

  /** How many members more the namespace may need; negative if it needs too many. */
  roomOf(namespace: string): number {
    const { members = 0 } = this.#tenants.get(namespace) ?? {};
    return Math.min(this.#room.ofNamespace - members, Math.max(this.#roomOfAll, this.#share - members));
  }

  /**
   * Whether a change of the namespace's policies may prepare more members than the `ready` ones it has, where `ofAll`
   * are those of all changes: if the total is exceeded, only a change that has no more than the others.
   */
  mayPrepare(namespace: string, ready: number, ofAll: readonly number[]): boolean {
    const all = ofAll.reduce((sum, each) => sum + each, 0);
    return this.roomOf(namespace) >= ready && (this.#roomOfAll >= all || ready <= all / ofAll.length);
  }

  get #roomOfAll(): number {
    return this.#room.ofAll - this.#members;
  }

  /** An equal share of the total: a namespace may have this much, however many members all namespaces have. */
  get #share(): number {
    return this.#room.ofAll / Math.max(1, this.#tenants.size);
  }

  /**
   * The namespaces that need too many members. If the total is exceeded, these are, of the namespaces with more than an
   * equal share, those whose needs have grown most since the total was last kept: a namespace cannot take room from
   * those that had it before.
   */
  overQuota(): string[] {
    const tooMany: string[] = [];
    for (const namespace of this.#changed) {
      const { members = 0 } = this.#tenants.get(namespace) ?? {};
      if (members > this.#room.ofNamespace) tooMany.push(namespace);
    }
    if (tooMany.length > 0) return tooMany;
    if (this.#changed.size > 0 && this.#roomOfAll < 0) return [this.#mostGrown([...this.#tenants])];
    this.#remember();
    return [];
  }

  #mostGrown(tenants: readonly (readonly [string, Tenant])[]): string {
    const large = tenants.filter(([, { members }]) => members > this.#share);
    const grown = large.map(([namespace, { members }]) => {
      const more = Math.max(0, members - (this.#before.get(namespace) ?? 0));
      return { namespace, members, more };
    });
    return grown.sort((a, b) => b.more - a.more || b.members - a.members)[0]!.namespace;
  }

  /** Remembers that every namespace has room now. */
  #remember(): void {
    for (const namespace of this.#changed) {
      const tenant = this.#tenants.get(namespace);
      if (tenant === undefined) this.#before.delete(namespace);
      else this.#before.set(namespace, tenant.members);
    }
    this.#changed.clear();
  }
}
