/**
 * How many members the sets of peers may have that the NetworkPolicies of one namespace need, and those of all namespaces
 * together. A selector of one line may mean every pod of the cluster, and rules that have peers in common are a set for each
 * way in which they are combined: what a policy's text says of it is no bound.
 */
import { getOrMake } from '../../../lib/collections/getormake.ts';

/** In members of sets, both families together: some 30 bytes of the agent's each, and 94 of the kernel's. */
export interface SetQuota {
  readonly ofNamespace: number;
  /** Where they are more, a namespace may still have its share of it. */
  readonly ofAll: number;
}

export const SET_QUOTA: SetQuota = { ofNamespace: 1_000_000, ofAll: 2_000_000 };

/** A namespace whose policies need sets. */
interface Tenant {
  sets: number;
  members: number;
}

export class SetQuotaLedger {
  readonly #room: SetQuota;
  readonly #tenants = new Map<string, Tenant>();
  /** Of all sets that a namespace needs, each once. */
  #members = 0;
  /** What each needed when all last had room, and who may need something else by now. */
  readonly #before = new Map<string, number>();
  readonly #changed = new Set<string>();

  constructor(room: SetQuota) {
    this.#room = room;
  }

  /** A set that these namespaces need has so many members more. */
  grow(more: number, namespaces: ReadonlyMap<string, unknown>): void {
    if (namespaces.size > 0) this.#members += more;
    for (const namespace of namespaces.keys()) {
      this.#tenants.get(namespace)!.members += more;
      this.#changed.add(namespace);
    }
  }

  /** The namespace needs a set of so many members, which no other one needs, or some do. */
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

  /** How many members more the namespace may need; below zero where it needs too many. */
  roomOf(namespace: string): number {
    const { members = 0 } = this.#tenants.get(namespace) ?? {};
    return Math.min(this.#room.ofNamespace - members, Math.max(this.#roomOfAll, this.#share - members));
  }

  /**
   * Whether a change of its policies may have more made ready than it has, of what all changes have: where all have no room
   * together, whoever has no more than others.
   */
  mayPrepare(namespace: string, ready: number, ofAll: readonly number[]): boolean {
    const all = ofAll.reduce((sum, each) => sum + each, 0);
    return this.roomOf(namespace) >= ready && (this.#roomOfAll >= all || ready <= all / ofAll.length);
  }

  get #roomOfAll(): number {
    return this.#room.ofAll - this.#members;
  }

  /** What each may have, however many all have. */
  get #share(): number {
    return this.#room.ofAll / Math.max(1, this.#tenants.size);
  }

  /**
   * Those that need too many. Where all do together: of those with more than their share whoever has come to need most since
   * all had room, so that nobody takes it from who had it.
   */
  beyond(): string[] {
    const needs = (namespace: string) => this.#tenants.get(namespace)?.members ?? 0;
    const tooMany = [...this.#changed].filter(namespace => needs(namespace) > this.#room.ofNamespace);
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

  /** All have room. */
  #remember(): void {
    for (const namespace of this.#changed) {
      const tenant = this.#tenants.get(namespace);
      if (tenant === undefined) this.#before.delete(namespace);
      else this.#before.set(namespace, tenant.members);
    }
    this.#changed.clear();
  }
}
