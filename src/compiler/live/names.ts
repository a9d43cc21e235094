/** Rules by name, followed event by event: what did not change stays the same object. */
import { FAMILIES, type Family } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import { hasDomainPeers } from '../../model/domainpeers.ts';
import type { PolicyId } from '../../model/policy.ts';
import { NO_SUBJECTS, type Subjects } from '../../names/subjects.ts';
import type { TablePart } from '../attachedpods.ts';
import { type AnswersOfBase, type DnsQueue, forgedPart, namesPart, resolverPorts } from '../namespeers.ts';
import { namesSubjects } from '../namessubjects.ts';
import type { NodeNetwork } from '../podlinks.ts';

const NOTHING: TablePart = { chains: [], sets: [] };

export class LiveNames {
  readonly #dnsQueue: DnsQueue | undefined;
  /** The policies that have rules by name. */
  readonly #naming = new Set<PolicyId>();
  /** The pods that have rules by name; the same object until that changes. */
  subjects: Subjects = NO_SUBJECTS;
  #parts: Record<Family, TablePart> = { ip: NOTHING, ip6: NOTHING };

  constructor(dnsQueue: DnsQueue | undefined) {
    this.#dnsQueue = dnsQueue;
  }

  /** Whether a policy of the cluster has rules by name, also one that selects no pod of this node. */
  get isNaming(): boolean {
    return this.#naming.size > 0;
  }

  /** What base chains need for rules by name. */
  get answers(): AnswersOfBase | undefined {
    if (!this.isNaming) return undefined;
    return { ports: resolverPorts(this.#dnsQueue), readsAnswers: this.#readsAnswers };
  }

  get #readsAnswers(): boolean {
    return this.subjects.pods.length > 0;
  }

  part(family: Family): TablePart {
    return this.#parts[family];
  }

  /** Returns whether the cluster now has its first policy with rules by name, or has lost its last one. */
  refreshPolicies(ids: Iterable<PolicyId>, { policies }: Pick<Cluster, 'policies'>): boolean {
    const before = this.isNaming;
    for (const id of ids) {
      const policy = policies.get(id);
      if (policy !== undefined && hasDomainPeers(policy)) this.#naming.add(id);
      else this.#naming.delete(id);
    }
    return before !== this.isNaming;
  }

  /** `anew`: whether inputs other than pods and groups have changed. Returns whether the base chains have changed. */
  refresh(
    placements: Parameters<typeof namesSubjects>[0],
    groups: Parameters<typeof namesSubjects>[1],
    network: NodeNetwork,
    anew: boolean,
  ): boolean {
    const before = this.#readsAnswers;
    const subjects = this.#dnsQueue === undefined ? NO_SUBJECTS : namesSubjects(placements, groups);
    const isSame = JSON.stringify(subjects) === JSON.stringify(this.subjects);
    if (isSame && !anew) return false;
    if (!isSame) this.subjects = subjects;
    const parts = FAMILIES.map(family => [family, this.#makePart(family, network)]);
    this.#parts = Object.fromEntries(parts) as Record<Family, TablePart>;
    return before !== this.#readsAnswers || anew;
  }

  #makePart(family: Family, network: NodeNetwork): TablePart {
    if (!this.isNaming) return NOTHING;
    if (this.#dnsQueue === undefined || !this.#readsAnswers) return forgedPart(network);
    return namesPart(family, this.subjects, this.#dnsQueue, network);
  }
}
