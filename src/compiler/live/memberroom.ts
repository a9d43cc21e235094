/**
 * How many members the sets of peers may have that the NetworkPolicies of one namespace need, and all sets together. A
 * selector of one line may mean every pod of the cluster, and rules that have peers in common are a set for each way in
 * which they are combined: what a policy's text says of it is no bound.
 */
import { getOrMake } from '../../model/getormake.ts';

/** In members of sets, both families together: some 30 bytes of the agent's each, and 94 of the kernel's. */
export interface MemberRoom {
  readonly ofNamespace: number;
  /** Where they are more, a namespace may still have its share of it. */
  readonly ofAll: number;
}

export const MEMBER_ROOM: MemberRoom = { ofNamespace: 1_000_000, ofAll: 2_000_000 };

/** A namespace whose policies need sets. */
interface Tenant {
  sets: number;
  members: number;
}

export class MemberLedger {
  readonly #room: MemberRoom;
  readonly #tenants = new Map<string, Tenant>();
  #members = 0;

  constructor(room: MemberRoom) {
    this.#room = room;
  }

  /** A set has so many members more. */
  grow(more: number, namespaces: Iterable<string>): void {
    this.#members += more;
    for (const namespace of namespaces) this.#tenants.get(namespace)!.members += more;
  }

  /** The namespace needs a set more, or less, of so many members. */
  need(namespace: string, sets: 1 | -1, members: number): void {
    const tenant = getOrMake(this.#tenants, namespace, () => ({ sets: 0, members: 0 }));
    tenant.sets += sets;
    tenant.members += sets * members;
    if (tenant.sets === 0) this.#tenants.delete(namespace);
  }

  /** How many members more the namespace may need; below zero where it needs too many. */
  roomOf(namespace: string): number {
    const { members = 0 } = this.#tenants.get(namespace) ?? {};
    const { ofNamespace, ofAll } = this.#room;
    const share = ofAll / Math.max(1, this.#tenants.size) - members;
    return Math.min(ofNamespace - members, Math.max(share, ofAll - this.#members));
  }

  /** Those that need too many. */
  beyond(): string[] {
    return [...this.#tenants.keys()].filter(namespace => this.roomOf(namespace) < 0);
  }
}
