/** Why a connection is allowed or denied: the walk through the tiers, with the lines of the manifests that decide. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { printable } from '../../src/terminal/printable.ts';
import type { Explained, Explanation } from '../core/protocol.ts';
import { model } from '../state/manifests.ts';
import { explained, type Reply } from '../state/question.ts';
import { copyText } from '../state/save.ts';
import { PROTOCOLS, pane, rowsByKey, selected } from '../state/view.ts';
import { FixButtons } from './fix.tsx';
import { StopButton } from './stopbutton.tsx';
import { Walk } from './walk.tsx';
import { VERDICTS, Ways } from './ways.tsx';

export function Why() {
  const { from, to } = selected.value ?? {};
  const box = useRef<HTMLElement>(null);
  const opener = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const active = document.activeElement as HTMLElement | null;
    if (active === null || box.current?.contains(active)) return;
    opener.current = active;
    // On a narrow screen what was chosen from is out of sight now.
    if (active !== document.body && active.getClientRects().length === 0) box.current?.focus();
  }, [from, to]);
  const close = () => {
    selected.value = undefined;
    pane.value = 'look';
    requestAnimationFrame(() => {
      const isThere = opener.current?.isConnected && opener.current !== document.body;
      (isThere ? opener.current : document.querySelector<HTMLElement>('#look'))?.focus();
    });
  };
  const reply = explained.value;
  return (
    <section
      class="why"
      aria-label="Why"
      tabIndex={-1}
      ref={box}
      onKeyDown={({ key }) => key === 'Escape' && close()}
    >
      {reply?.kind !== 'answered' ? (
        <Without reply={reply} close={close} />
      ) : 'error' in reply.answer.answer ? (
        <>
          <Head now={reply.answer} close={close} />
          <p class="reason">{reply.answer.answer.error}</p>
        </>
      ) : (
        <Answer now={reply.answer} answer={reply.answer.answer} close={close} />
      )}
    </section>
  );
}

interface WithoutProps {
  readonly reply: Exclude<Reply<unknown>, { readonly kind: 'answered' }> | undefined;
  readonly close: () => void;
}

/** What is shown in place of an answer. Names are of a link, which may come from anybody. */
function Without({ reply, close }: WithoutProps) {
  const { from = '', to = '' } = selected.value ?? {};
  const unknown = [from, to].filter(each => !rowsByKey.value.has(each)).map(printable);
  const text =
    reply?.kind === 'failed'
      ? reply.why
      : reply?.kind === 'asked'
        ? 'Looking for the reason…'
        : model.value === undefined
          ? 'The manifests have to be read first.'
          : `The manifests have no ${unknown.join(' and no ')}.`;
  return (
    <>
      <h2 class="question">
        <span>{printable(from)}</span> → <span>{printable(to)}</span>
        <CloseButton close={close} />
      </h2>
      <p class="reason" role="status">
        {text}
      </p>
      {reply?.kind === 'asked' && <StopButton />}
    </>
  );
}

function CloseButton({ close }: { readonly close: () => void }) {
  return (
    <button type="button" class="quiet close" aria-label="Close" onClick={close}>
      ×
    </button>
  );
}

const DIFFERS: Readonly<Record<string, string>> = {
  family: 'by family',
  source: 'by where it comes from',
  destination: 'by where it arrives',
  address: 'by address',
};

interface AnswerProps {
  readonly now: Explained;
  readonly answer: Explanation;
  readonly close: () => void;
}

function Answer({ now, answer, close }: AnswerProps) {
  return (
    <>
      <p class="verdict" role="status" data-verdict={answer.verdict}>
        {VERDICTS[answer.verdict]}
      </p>
      <Head now={now} close={close} />
      <p class="reason">{answer.reason}</p>
      {answer.differsBy.length > 0 && <Cases answer={answer} />}
      {answer.egress && (
        <Walk
          title={`Leaving ${answer.egress.pod ?? answer.from}`}
          of={answer.egress}
          now={now}
          answer={answer}
          which="egress"
        />
      )}
      {answer.ingress && (
        <Walk
          title={`Arriving at ${answer.ingress.pod ?? answer.to}`}
          of={answer.ingress}
          now={now}
          answer={answer}
          which="ingress"
        />
      )}
      <Ways ways={now.ways} />
      <FixButtons answer={answer} />
      {answer.notes.length > 0 && (
        <ul class="notes">
          {answer.notes.map(note => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <p class="hint">
        <code>{now.command}</code>{' '}
        <button type="button" class="quiet" onClick={() => void copyText(now.command)}>
          Copy
        </button>
        <br />
        PATH is the folder or file of the manifests.
      </p>
    </>
  );
}

interface HeadProps {
  readonly now: Explained;
  readonly close: () => void;
}

function Head({ now: { question, port, protocol }, close }: HeadProps) {
  const ask = (asked: { readonly port: string; readonly protocol: string }) => {
    if (selected.value !== undefined) selected.value = { ...selected.value, ...asked };
  };
  const target = question.to.replace(/(?::[^:]*)?\/[A-Z]+$/, '');
  return (
    <h2 class="question">
      <span>{question.from}</span> → <span>{target}</span>
      <span class="asked-port">
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
      </span>
      <CloseButton close={close} />
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
            <b data-verdict={each.verdict}>{VERDICTS[each.verdict]}</b> {each.from} → {each.to}
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
