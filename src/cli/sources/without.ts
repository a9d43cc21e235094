/** Policies that a question leaves out (`--without`): the answer is as if they did not exist. */

import { didYouMean } from '../../lib/text/didyoumean.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { PolicyId } from '../../model/policy.ts';
import { isCalled, labelOf } from '../../model/policyname.ts';
import { CommandError } from '../../terminal/commanderror.ts';

/** Policies may come from several clusters or files: a name is wrong if none of them has such a policy. */
export class LeftOutPolicies {
  readonly #names: readonly string[];
  readonly #seen = new Set<PolicyId>();
  readonly #meant = new Map<string, Set<PolicyId>>();

  constructor(names: readonly string[] = []) {
    this.#names = [...new Set(names)];
    for (const name of this.#names) this.#meant.set(name, new Set());
  }

  /** `namespace` is that of names without one. */
  has(id: PolicyId, namespace: string): boolean {
    this.#seen.add(id);
    const names = this.#names.filter(name => isCalled(id, name) || isCalled(id, `${namespace}/${name}`));
    for (const name of names) this.#meant.get(name)!.add(id);
    return names.length > 0;
  }

  /** The cluster without them. */
  from<T extends Cluster>(cluster: T, namespace: string): T | Cluster {
    if (this.#names.length === 0) return cluster;
    const rest = <V>(policies: ReadonlyMap<PolicyId, V>) =>
      new Map([...policies].filter(([id]) => !this.has(id, namespace)));
    const policies = rest(cluster.policies);
    return { ...cluster, policies, ...(cluster.audited && { audited: rest(cluster.audited) }) };
  }

  /**
   * A note on what was left out. Throws CommandError where a name means no policy of those that were seen `where`, or
   * several; `mayHide` says that there may be others, which could not be read.
   */
  notes(where: string, mayHide: boolean): readonly string[] {
    for (const [name, meant] of this.#meant) this.#requireOne(name, [...meant], where, mayHide);
    const ids = [...new Set([...this.#meant.values()].flatMap(meant => [...meant]))].sort();
    if (ids.length === 0) return [];
    const it = ids.length === 1 ? 'it' : 'they';
    return [`left out (--without): ${ids.join(', ')}; the answer is as if ${it} did not exist`];
  }

  #requireOne(name: string, meant: readonly PolicyId[], where: string, mayHide: boolean): void {
    if (meant.length === 1) return;
    if (meant.length > 1)
      throw new CommandError(`--without ${name} means ${meant.map(labelOf).join(' and ')}: name one of them`);
    const hidden = mayHide ? ', but not all policies could be read' : '';
    throw new CommandError(`there is no policy ${name} ${where}${hidden}${this.#nearTo(name)}`);
  }

  /** One of the same name elsewhere, or of a similar name in the same place. */
  #nearTo(asked: string): string {
    const [, place = '', name = ''] = /^(.*[/:])?(.*)$/s.exec(asked)!;
    const labels = [...this.#seen].map(labelOf).sort();
    const elsewhere = labels.filter(label => label.replace(PLACE, '') === name);
    if (elsewhere.length > 0) return `; did you mean ${firstOf(elsewhere, MOST_NAMED)}?`;
    const there = labels.filter(label => label.startsWith(place));
    const close = didYouMean(
      name,
      there.map(label => label.replace(PLACE, '')),
    );
    const meant = there.find(label => label.replace(PLACE, '') === close);
    if (meant !== undefined) return `; did you mean ${meant}?`;
    return labels.length === 0 ? '; there are no policies' : ` (${firstOf(labels, MOST_NAMED)})`;
  }
}

/** The namespace or kind in a label. */
const PLACE = /^.*[/:]/s;
const MOST_NAMED = 5;
