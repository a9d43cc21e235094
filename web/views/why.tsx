/** Why a connection is allowed or denied: the walk through the tiers, with the lines of the manifests that decide. */
import { effect, signal } from '@preact/signals';
import type { DirectionShown, Explained, Explanation, Fixed, Stop } from '../core/protocol.ts';
import { addText } from '../state/edits.ts';
import { core, model } from '../state/manifests.ts';
import { copyText } from '../state/save.ts';
import { rowsByKey, selected } from '../state/view.ts';
import { Snippet } from './snippet.tsx';

const explained = signal<Explained | undefined>(undefined);
const trouble = signal<string | undefined>(undefined);
const fixed = signal<Fixed | undefined>(undefined);
let run = 0;

/** Asks anew where another connection is chosen, and where the manifests are edited. */
export function startExplaining(): void {
  effect(() => {
    const asked = askedNow();
    const own = ++run;
    fixed.value = undefined;
    if (asked === undefined || model.value === undefined) {
      explained.value = undefined;
      return;
    }
    core.call('explain', asked).then(
      found => {
        if (own !== run) return;
        explained.value = found;
        trouble.value = undefined;
      },
      (error: Error) => {
        if (own === run) trouble.value = error.message;
      },
    );
  });
}

function askedNow() {
  const chosen = selected.value;
  if (chosen === undefined) return undefined;
  const [from, to] = [rowsByKey.value.get(chosen.from), rowsByKey.value.get(chosen.to)];
  if (from === undefined || to === undefined) return undefined;
  const { port, protocol } = chosen;
  return { from, to, ...(port !== undefined && { port }), ...(protocol !== undefined && { protocol }) };
}

export function Why() {
  const now = explained.value;
  if (selected.value === undefined || model.value === undefined) return null;
  if (trouble.value !== undefined) return <p class="empty">{trouble.value}</p>;
  if (now === undefined) return <p class="empty">These two are not in the manifests.</p>;
  const { answer } = now;
  return (
    <section class="why" aria-label="Why">
      {'error' in answer ? (
        <>
          <Head now={now} />
          <p class="reason">{answer.error}</p>
        </>
      ) : (
        <Answer now={now} answer={answer} />
      )}
    </section>
  );
}

const WORDS = { allow: '✓ allowed', deny: '✕ denied', undecided: '? undecided' } as const;
const DIFFERS: Readonly<Record<string, string>> = {
  family: 'by family',
  source: 'by where it comes from',
  destination: 'by where it arrives',
  address: 'by address',
};

function Answer({ now, answer }: { readonly now: Explained; readonly answer: Explanation }) {
  return (
    <>
      <p class="verdict" role="status" data-verdict={answer.verdict}>
        {WORDS[answer.verdict]}
      </p>
      <Head now={now} />
      <p class="reason">{answer.reason}</p>
      {answer.differsBy.length > 0 && <Cases answer={answer} />}
      {answer.egress && (
        <Direction
          title={`Leaving ${answer.egress.pod ?? answer.from}`}
          of={answer.egress}
          now={now}
          answer={answer}
          which="egress"
        />
      )}
      {answer.ingress && (
        <Direction
          title={`Arriving at ${answer.ingress.pod ?? answer.to}`}
          of={answer.ingress}
          now={now}
          answer={answer}
          which="ingress"
        />
      )}
      <FixButtons answer={answer} />
      {answer.notes.length > 0 && (
        <ul class="notes">
          {answer.notes.map(note => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <p class="hint">
        <code>
          sluice explain {now.question.from} {now.question.to}
        </code>
      </p>
    </>
  );
}

const PROTOCOLS = ['TCP', 'UDP', 'SCTP', 'ICMP'] as const;

function Head({ now: { question, port, protocol } }: { readonly now: Explained }) {
  const ask = (asked: { readonly port: string; readonly protocol: string }) => {
    if (selected.value !== undefined) selected.value = { ...selected.value, ...asked };
  };
  const target = question.to.replace(/(?::[^:]*)?\/[A-Z]+$/, '');
  return (
    <h2 class="question">
      <span>{question.from}</span> → <span>{target}</span>
      {protocol !== 'ICMP' && (
        <input
          aria-label="Port"
          inputMode="numeric"
          value={port}
          size={5}
          maxLength={15}
          onChange={({ currentTarget }) => ask({ port: currentTarget.value.trim(), protocol })}
        />
      )}
      <select
        aria-label="Protocol"
        value={protocol}
        onChange={({ currentTarget }) => ask({ port: port || '80', protocol: currentTarget.value })}
      >
        {PROTOCOLS.map(each => (
          <option key={each}>{each}</option>
        ))}
      </select>
      <button
        type="button"
        class="quiet"
        aria-label="Close"
        onClick={() => {
          selected.value = undefined;
        }}
      >
        ×
      </button>
    </h2>
  );
}

const MOST_CASES = 20;

function Cases({ answer: { cases, differsBy } }: { readonly answer: Explanation }) {
  return (
    <div class="cases">
      <p>
        The verdict differs {differsBy.map(each => DIFFERS[each] ?? each).join(' and ')}; the stricter one
        counts.
      </p>
      <ul>
        {cases.slice(0, MOST_CASES).map((each, i) => (
          <li key={i}>
            <b data-verdict={each.verdict}>{WORDS[each.verdict]}</b> {each.from} → {each.to}
            {each.port !== undefined && `:${each.port}`}{' '}
            {each.families.map(family => (family === 'ipv4' ? 'IPv4' : 'IPv6')).join(' and ')}{' '}
            {each.addresses}
          </li>
        ))}
        {cases.length > MOST_CASES && <li>and {cases.length - MOST_CASES} more</li>}
      </ul>
    </div>
  );
}

interface DirectionProps {
  readonly title: string;
  readonly of: DirectionShown;
  readonly now: Explained;
  readonly answer: Explanation;
  readonly which: 'egress' | 'ingress';
}

const TIERS = { admin: 'Admin', networkpolicy: 'NetworkPolicy', baseline: 'Baseline' } as const;

function Direction({ title, of: { verdict, reason, stops, pod }, now, answer, which }: DirectionProps) {
  const nearly = answer.nearly.filter(({ direction }) => direction === which);
  return (
    <section class="walk">
      <h3 data-verdict={verdict}>
        <span aria-hidden="true">{verdict === 'allow' ? '●' : '■'}</span> {title}{' '}
        <small>{verdict === 'allow' ? 'allowed' : 'denied'}</small>
      </h3>
      {(pod === undefined || stops.length === 0) && <p class="hint">{reason}</p>}
      {(Object.keys(TIERS) as (keyof typeof TIERS)[]).map(tier => {
        const own = stops.filter(stop => stop.tier === tier);
        return own.length === 0 ? null : (
          <Tier key={tier} title={TIERS[tier]} stops={own} now={now} verdict={verdict} />
        );
      })}
      {nearly.map(({ policy, rule, needs }) => (
        <p class="nearly" key={`${policy} ${rule}`}>
          <b>Nearly:</b> {policy} {rule} would match if {needs.join(', and ')}.
        </p>
      ))}
    </section>
  );
}

const MOST_STOPS = 30;

function Tier({
  title,
  stops,
  now,
  verdict,
}: {
  readonly title: string;
  readonly stops: readonly Stop[];
  readonly now: Explained;
  readonly verdict: 'allow' | 'deny';
}) {
  const decider =
    stops.find(({ part }) => part === 'decided') ??
    (verdict === 'deny' ? stops.find(({ says }) => says === 'isolates') : undefined);
  return (
    <>
      <h4>{title}</h4>
      {stops.slice(0, MOST_STOPS).map(stop => (
        <StopLine key={stop.policy} stop={stop} now={now} isOpen={stop === decider} verdict={verdict} />
      ))}
      {stops.length > MOST_STOPS && <p class="hint">and {stops.length - MOST_STOPS} more</p>}
    </>
  );
}

const PARTS: Record<Stop['part'], string> = {
  decided: 'decided',
  passed: 'passed to the next tier',
  'same-verdict': 'same verdict',
  overridden: 'overridden',
  'no-match': 'no match',
};

function StopLine({
  stop,
  now,
  isOpen,
  verdict,
}: {
  readonly stop: Stop;
  readonly now: Explained;
  readonly isOpen: boolean;
  readonly verdict: 'allow' | 'deny';
}) {
  const { policy, rule, part, says, text, by } = stop;
  const place = now.places[`${policy} ${rule ?? ''}`];
  const what =
    part === 'decided' && says === 'isolates' ? 'selects the pod, and no rule allows this' : PARTS[part];
  return (
    <details class="stop" data-part={part} data-verdict={isOpen ? verdict : undefined} open={isOpen}>
      <summary>
        <b>{policy.replace(/^\S+ /, '')}</b> {rule !== undefined && <code>{rule}</code>}
        <span class="part">
          {what}
          {by !== undefined && ` by ${by}`}
        </span>
      </summary>
      {text !== undefined && <p class="hint">{text}</p>}
      {place !== undefined && <Snippet place={place} verdict={verdict} isDeciding={isOpen} />}
    </details>
  );
}

function FixButtons({ answer }: { readonly answer: Explanation }) {
  const now = fixed.value;
  const wanted = answer.verdict === 'allow' ? 'deny' : 'allow';
  const propose = async () => {
    const asked = askedNow();
    if (asked !== undefined) fixed.value = await core.call('fix', asked, wanted);
  };
  if (answer.verdict === 'undecided') return null;
  return (
    <div class="fix">
      {now === undefined && (
        <button type="button" onClick={() => void propose()}>
          Propose the smallest policy that {wanted === 'allow' ? 'allows' : 'denies'} it
        </button>
      )}
      {now?.none !== undefined && <p>No policy to propose: {now.none}.</p>}
      {now?.yaml !== undefined && <Proposal yaml={now.yaml.verbatim} also={now.also} wanted={wanted} />}
    </div>
  );
}

const MOST_ALSO = 10;

function Proposal({
  yaml,
  also,
  wanted,
}: {
  readonly yaml: string;
  readonly also: readonly string[];
  readonly wanted: string;
}) {
  return (
    <>
      <p>
        To {wanted} it, apply this.{' '}
        {also.length === 0
          ? `It ${wanted === 'allow' ? 'opens' : 'closes'} nothing else of what is there now.`
          : `It also ${wanted === 'allow' ? 'opens' : 'closes'}:`}
      </p>
      {also.length > 0 && (
        <ul>
          {also.slice(0, MOST_ALSO).map(each => (
            <li key={each}>{each}</li>
          ))}
          {also.length > MOST_ALSO && <li>and {also.length - MOST_ALSO} more</li>}
        </ul>
      )}
      <pre tabIndex={0}>{yaml}</pre>
      <button type="button" onClick={() => addText('proposed.yaml', yaml)}>
        Add it to the manifests
      </button>{' '}
      <button type="button" class="quiet" onClick={() => void copyText(yaml)}>
        Copy
      </button>
    </>
  );
}
