/** What the edits open and close: the exact list. */
import type { Change } from '../core/protocol.ts';
import { changes, isEdited, undoAll } from '../state/manifests.ts';
import { filter, passes } from '../state/view.ts';

const MOST_SHOWN = 500;

export function ChangeList() {
  const now = changes.value;
  if (!isEdited.value || now === undefined)
    return (
      <p class="empty">
        Nothing is edited. Open the editor, change a policy, and what opens and closes is listed here.
      </p>
    );
  const shown = now.changes.filter(({ from, to }) => passes([...from, ...to].join(' '), filter.value));
  return (
    <div class="changes">
      <p>
        <b>{now.summary}</b>{' '}
        <button type="button" class="quiet" onClick={undoAll}>
          Undo all edits
        </button>
      </p>
      <ul>
        {shown.slice(0, MOST_SHOWN).map((change, i) => (
          <ChangeLine key={i} change={change} />
        ))}
      </ul>
      {shown.length > MOST_SHOWN && <p class="hint">and {shown.length - MOST_SHOWN} more</p>}
      {now.notes.map(note => (
        <p key={note} class="hint">
          {note}
        </p>
      ))}
    </div>
  );
}

function ChangeLine({
  change: { kind, undecided, from, to, what, before, after },
}: {
  readonly change: Change;
}) {
  return (
    <li class="change" data-kind={kind}>
      <span class="sign">{kind === 'opens' ? '+' : '−'}</span>
      <div>
        <b>
          {undecided ? 'may ' : ''}
          {undecided ? kind.slice(0, -1) : kind}
        </b>{' '}
        <Ends members={from} /> → <Ends members={to} />: <b>{what}</b>
        <small>
          {before}; {after}
        </small>
      </div>
    </li>
  );
}

const MOST_ENDS = 6;

function Ends({ members }: { readonly members: readonly string[] }) {
  const short = members.map(member => member.replace(/^[A-Z]\S* /, ''));
  return (
    <span title={members.join(', ')}>
      {short.slice(0, MOST_ENDS).join(', ')}
      {short.length > MOST_ENDS && ` and ${short.length - MOST_ENDS} more`}
    </span>
  );
}
