/** Lines of a manifest around a place of it, with those marked that decide. */
import { printable } from '../../src/terminal/printable.ts';
import type { Place } from '../core/protocol.ts';
import { blockOf } from '../state/lines.ts';
import { files } from '../state/manifests.ts';
import { showPlace } from '../state/place.ts';

interface Props {
  readonly place: Place;
  readonly verdict: 'allow' | 'deny';
  readonly isDeciding: boolean;
}

const AROUND = 2;
const MOST_LINES = 40;

export function Snippet({ place, verdict, isDeciding }: Props) {
  const { file, line } = place;
  const text = files.value.find(([name]) => printable(name) === file)?.[1];
  if (text === undefined || line === undefined || file === undefined) return null;
  const { lines, first, last } = blockOf(text, line, AROUND, MOST_LINES);
  return (
    <figure class="snippet" data-verdict={isDeciding ? verdict : undefined}>
      <figcaption>
        <PlaceButton place={place} />
      </figcaption>
      <pre tabIndex={0}>
        {lines.map(({ number, text: each }) => (
          <span key={number} class="code-line" data-marked={number >= first && number <= last}>
            <i>{number}</i>
            {printable(each)}
            {'\n'}
          </span>
        ))}
      </pre>
    </figure>
  );
}

/** `policies.yaml:12`, which opens the editor there. */
export function PlaceButton({ place }: { readonly place: Place }) {
  const { file, line } = place;
  if (file === undefined) return null;
  return (
    <button type="button" class="quiet where" title="Open it in the editor" onClick={() => showPlace(place)}>
      {file}
      {line !== undefined && `:${line}`}
    </button>
  );
}
