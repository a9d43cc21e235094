/** A comparison of two clusters in words, as Markdown and as JSON. */

import { plural } from '../../../lib/text/plural.ts';
import { FAMILY_NAME } from '../../../model/address.ts';
import { namespaceOfPolicy, type Policy } from '../../../model/policy.ts';
import { memberName } from '../../../model/workload.ts';
import { Candidates, unlessUnread } from '../../lint/candidates.ts';
import { versioned } from '../../schema.ts';
import { connectionsText, newPodConnectionsObject } from '../connectionstext.ts';
import { escaped, rowOf } from '../documents.ts';
import { listed } from '../rows.ts';
import { countsText } from '../unknown.ts';
import { INTERNET_TEXT } from '../view.ts';
import { changesByWorkload } from './byworkload.ts';
import type { ChangeView, DiffView } from './diffview.ts';
import type { Compared } from './units.ts';

/** A comparison for programs. */
export function diffObject(
  { pool, changes, added, removed, counts, networks }: DiffView,
  cuts: { readonly cuts: readonly object[]; readonly deniedBefore: number } | undefined,
  notes: readonly string[],
): object {
  return versioned('Diff', {
    changes: changes.map(({ kind, from, to, families, connections, before, after, undecided }) => ({
      kind,
      ...(undecided && { undecided }),
      from,
      to,
      families: families.map(family => (family === 'ip' ? 'ipv4' : 'ipv6')),
      connections: newPodConnectionsObject(pool, connections),
      before,
      after,
    })),
    added,
    removed,
    ...(cuts && { cuts: cuts.cuts, deniedBefore: cuts.deniedBefore }),
    counts,
    networks,
    notes,
  });
}

// The parts of a change in words, for all formats.

/** `shop/web, shop/api and 3 more`. */
export function endsText(members: readonly string[], most = 6): string {
  return listed(members.map(memberName), most);
}

/** `TCP 80`; where pods have another family too, `TCP 80 over IPv6`. */
export function whatText(
  { pool, families: known }: Pick<DiffView, 'pool' | 'families'>,
  { connections, families }: ChangeView,
): string {
  const text = connectionsText(pool, connections);
  const isWhole = known.every(family => families.includes(family));
  return isWhole ? text : `${text} over ${FAMILY_NAME[families[0]!]}`;
}

/** `opens`; `may open`, if that depends on labels or addresses that are not known. */
export function kindText({ kind, undecided }: ChangeView): string {
  return undecided ? `may ${kind === 'opens' ? 'open' : 'close'}` : kind;
}

export function beforeText({ kind, before }: ChangeView): string {
  return kind === 'opens' ? deniedText(before, 'was') : allowedText(before, 'was');
}

export function afterText({ kind, after }: ChangeView): string {
  return kind === 'opens' ? allowedText(after, 'is') : deniedText(after, 'is');
}

function allowedText(by: readonly string[], is: 'is' | 'was'): string {
  return by.length === 0 ? `${is} allowed: no policy denies it` : `${is} allowed by ${by.join(' and ')}`;
}

/** Text for a denial. It names no policy if source or destination did not exist on that side. */
function deniedText(by: readonly string[], is: 'is' | 'was'): string {
  return by.length === 0 ? `${is} not there` : `${is} denied by ${by.join(' and ')}`;
}

/** `3 changes: 2 open, 1 close (compared 12 workloads and 7 policies)`. */
export function summary({ changes, counts }: DiffView): string {
  const opens = changes.filter(({ kind }) => kind === 'opens').length;
  const undecided = changes.filter(each => each.undecided).length;
  const found =
    changes.length === 0
      ? 'no connection opens or closes'
      : `${plural(changes.length, 'change')}: ${opens} open, ${changes.length - opens} close${undecided > 0 ? `, ${undecided} of them undecided` : ''}`;
  return `${found} (compared ${countsText(counts)})`;
}

/** What `internet` means in the changes, if it is in one. */
export function internetText({ changes, networks }: DiffView): string[] {
  const isNamed = changes.some(({ from, to }) => [...from, ...to].includes(INTERNET_TEXT));
  return isNamed && networks.length > 0
    ? [`internet: addresses outside ${listed(networks, MOST_NETWORKS)}`]
    : [];
}

const MOST_NETWORKS = 12;

// A comparison as the comment of a pull request.

/** A longer comment would not be read, and GitHub would refuse it. */
const MOST_ROWS = 200;

export function diffMarkdown(view: DiffView): string[] {
  const { changes, added, removed } = view;
  const names = (what: string, all: readonly string[]) =>
    all.length === 0 ? [] : ['', `${what}: ${escaped(listed(all.map(memberName), 20))}`];
  const workloads = [...names('New workloads', added), ...names('Workloads that are gone', removed)];
  const [first = '', ...rest] = summary(view);
  const title = `**${first.toUpperCase()}${rest.join('')}**`;
  if (changes.length === 0) return [title, ...workloads];
  const { shown, more } = changesByWorkload(view);
  return [
    title,
    '',
    ...shown.map(({ workload, text }) => `- ${escaped(workload)} ${text}`),
    ...(more > 0 ? [`- and ${plural(more, 'more workload')}`] : []),
    ...(shown.length > 0 ? [''] : []),
    '| | from | to | connections | before | after |',
    '|---|---|---|---|---|---|',
    ...changes
      .slice(0, MOST_ROWS)
      .map(change =>
        rowOf([
          kindText(change),
          endsText(change.from),
          endsText(change.to),
          whatText(view, change),
          beforeText(change),
          afterText(change),
        ]),
      ),
    ...(changes.length > MOST_ROWS ? ['', `and ${changes.length - MOST_ROWS} more changes`] : []),
    ...internetText(view).flatMap(text => ['', text]),
    ...workloads,
  ];
}

// Why some policies have no effect in a comparison.

const MOST_NAMED = 5;

/** `namespace` is the namespace from `-n` for manifests without one. */
export function idleNotes(old: Compared, now: Compared, namespace: string | undefined): readonly string[] {
  const changed = [...now.cluster.policies.values()].filter(
    policy => JSON.stringify(policy) !== JSON.stringify(old.cluster.policies.get(policy.id)),
  );
  const candidates = new Candidates(now.cluster, now.inventory);
  const idle = changed.filter(({ subject }) => !candidates.selectsAny(subject));
  const more = idle.length - MOST_NAMED;
  return [
    ...idle
      .slice(0, MOST_NAMED)
      .map(policy => noteOf(policy, namespace) + unlessUnread(candidates.makersFor(policy.subject))),
    ...(more > 0 ? [`and ${more} more policies select none of them`] : []),
  ];
}

function noteOf({ id }: Policy, namespace: string | undefined): string {
  const isByDefault = namespace === undefined && namespaceOfPolicy(id) === 'default';
  const hint = isByDefault ? ' (manifests that name no namespace are of default: -n names another)' : '';
  return `${id} selects none of the pods and workloads that are there${hint}`;
}
