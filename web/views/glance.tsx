/** At a glance: what a person would look for first, each as a button that shows it. */
import { computed } from '@preact/signals';
import type { Problem } from '../../src/model/problem.ts';
import type { Place } from '../core/protocol.ts';
import { model, overview, problems } from '../state/manifests.ts';
import { lacksManifests } from '../state/route.ts';
import { focusOn, nameOf } from '../state/view.ts';
import { Part } from './part.tsx';
import { PlaceButton } from './snippet.tsx';
import { WAYS, WayList } from './ways.tsx';

interface Fact {
  readonly title: string;
  readonly hint: string;
  /** Indexes of rows; undefined until it is known. */
  readonly rows: readonly number[] | undefined;
}

const facts = computed<readonly Fact[]>(() => {
  const of = model.value;
  if (of === undefined) return [];
  const { openToInternet, reachingInternet, openToAll } = of.glance;
  const alone = overview.value && new Set(overview.value.withoutPolicy);
  return [
    {
      title: 'open to the internet',
      hint: 'any address of the internet may connect, on some port',
      rows: openToInternet,
    },
    {
      title: 'may reach the internet',
      hint: 'they may connect to any address of the internet, on some port',
      rows: reachingInternet,
    },
    {
      title: 'open to everybody',
      hint: 'every other workload may connect, on some port',
      rows: openToAll,
    },
    {
      title: 'without a policy',
      hint: 'no policy selects them in either direction',
      rows:
        alone &&
        of.rows.flatMap(({ kind, member }, i) => (kind === 'workload' && alone.has(member) ? [i] : [])),
    },
  ];
});

export function Glance() {
  const of = model.value;
  if (of === undefined) return null;
  const { pairs, openPairs } = of.glance;
  return (
    <section class="glance" aria-labelledby="glance">
      <h2 id="glance">At a glance</h2>
      <p>
        {openPairs.toLocaleString('en')} of {pairs.toLocaleString('en')} pairs of workloads may connect
        {pairs > 0 && ` (${percent(openPairs / pairs)})`}.
      </p>
      <ul class="facts">
        {facts.value.map(fact => (
          <FactLine key={fact.title} fact={fact} />
        ))}
        <WaysLine />
        <ProblemsLine />
      </ul>
      <Exposures />
      <Notes notes={of.notes} />
      <p class="hint">
        Choose a cell to see why it is so: the walk through the tiers, with the lines that decide.
      </p>
      {lacksManifests.value && (
        <p class="hint">
          These manifests are too large for a link: the address has only what is chosen and filtered here.
        </p>
      )}
    </section>
  );
}

function percent(share: number): string {
  return `${(share * 100).toLocaleString('en', { maximumFractionDigits: 1 })}\u00a0%`;
}

const MOST_NAMED = 200;

function FactLine({ fact: { title, hint, rows } }: { readonly fact: Fact }) {
  if (rows === undefined || rows.length === 0)
    return (
      <li key="none" class="fact" title={hint}>
        <b>{rows === undefined ? '…' : 0}</b> {title}
      </li>
    );
  return (
    <li key="some">
      <Part name={`fact ${title}`}>
        <summary class="fact" title={hint}>
          <b>{rows.length}</b> {title}
        </summary>
        <p class="hint">{hint}</p>
        <RowNames rows={rows} />
      </Part>
    </li>
  );
}

function RowNames({ rows }: { readonly rows: readonly number[] }) {
  const of = model.value!;
  return (
    <ul class="names">
      {rows.slice(0, MOST_NAMED).map(row => (
        <li key={row}>
          <button type="button" class="quiet" onClick={() => focusOn(of.rows[row]!)}>
            {nameOf(of.rows[row]!)}
          </button>
        </li>
      ))}
      {rows.length > MOST_NAMED && <li>and {rows.length - MOST_NAMED} more</li>}
    </ul>
  );
}

function ProblemsLine() {
  const found = problems.value;
  const errors = found.filter(({ severity }) => severity === 'error').length;
  if (found.length === 0)
    return (
      <li key="none" class="fact">
        <b>{overview.value === undefined ? '…' : 0}</b> problems
      </li>
    );
  return (
    <li key="some">
      <Part name="fact problems">
        <summary class="fact" data-bad={errors > 0}>
          <b>{found.length}</b> {found.length === 1 ? 'problem' : 'problems'}
          {errors > 0 && ` (${errors} ${errors === 1 ? 'error' : 'errors'})`}
        </summary>
        <ul class="problems">
          {found.slice(0, MOST_NAMED).map((problem, i) => (
            <li key={i} data-severity={problem.severity}>
              <PlaceButton place={placeOf(problem)} /> <b>{problem.object}</b> {problem.field}{' '}
              {problem.message}; {problem.effect}
            </li>
          ))}
          {found.length > MOST_NAMED && <li>and {found.length - MOST_NAMED} more</li>}
        </ul>
      </Part>
    </li>
  );
}

function placeOf({ file, line }: Problem): Place {
  return { ...(file !== undefined && { file }), ...(line !== undefined && { line }) };
}

function WaysLine() {
  const { ways = [], wayNotes = [] } = overview.value ?? {};
  if (ways.length + wayNotes.length === 0) return null;
  const reached = new Set(ways.filter(({ verdict }) => verdict === 'allow').map(({ to }) => to));
  return (
    <li>
      <Part name="fact ways">
        <summary class="fact" title={WAYS}>
          <b>{reached.size}</b> open by a Service, Ingress or route
        </summary>
        <div class="names" tabIndex={0}>
          <p class="hint">
            a load balancer or an ingress controller leads there from outside, and policy allows each step
          </p>
          <WayList ways={ways} />
          <Notes notes={wayNotes} />
        </div>
      </Part>
    </li>
  );
}

function Exposures() {
  const { exposures = [], moreExposures = 0 } = overview.value ?? {};
  if (exposures.length === 0) return null;
  return (
    <Part class="exposures" name="pods to come">
      <summary>Pods that are not there yet</summary>
      <ul tabIndex={0} aria-label="Pods that are not there yet">
        {exposures.map(({ direction, members, whom, connections }, i) => (
          <li key={i}>
            {members.map(short).join(', ')} {direction === 'ingress' ? '←' : '→'} {whom.join(', ')}:{' '}
            <b>{connections}</b>
          </li>
        ))}
        {moreExposures > 0 && <li>and {moreExposures} more</li>}
      </ul>
    </Part>
  );
}

function short(member: string): string {
  return member.replace(/^\S+ /, '');
}

function Notes({ notes }: { readonly notes: readonly string[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="notes" aria-label="Notes">
      {notes.map(note => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
