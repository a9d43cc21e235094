/** The keys, as a list over the page. */
import { useEffect, useRef } from 'preact/hooks';
import { hasKey, switchKey } from '../state/keys.ts';
import { showsKeys } from '../state/view.ts';

const KEYS: readonly (readonly [title: string, keys: readonly (readonly [keys: string, what: string])[]])[] =
  [
    [
      'Everywhere',
      [
        ['Tab, Shift+Tab', 'to the next part of the page, and back'],
        ['Enter', 'what the button says; opens and closes what has a ▸'],
        ['Escape', 'closes the reason, and this list'],
        ['?', 'this list'],
      ],
    ],
    [
      'In the matrix',
      [
        ['Arrows', 'from cell to cell; PageUp and PageDown by ten rows, Home and End along the row'],
        ['Enter', 'why the cell is so: the reason follows by Tab; a folded namespace is opened'],
        ['R, C', 'the end of the row, or of the column, in the middle of the focus'],
        ['F', 'folds the namespace of the row, or opens it'],
      ],
    ],
    [
      'In the editor',
      [
        ['Ctrl+Space', 'what can be written here'],
        ['Ctrl+F', 'finds and replaces'],
        ['Ctrl+Z, Ctrl+Y', 'takes back the last key, and puts it in again'],
        ['Tab', 'leaves the editor; once something is typed it indents, and Escape before it leaves'],
      ],
    ],
  ];

export function KeysButton() {
  return (
    <button
      type="button"
      class="keys-button"
      aria-label="Keys"
      title="Keys"
      aria-haspopup="dialog"
      onClick={() => {
        showsKeys.value = true;
      }}
    >
      ?
    </button>
  );
}

export function Keys() {
  const box = useRef<HTMLDialogElement>(null);
  const isShown = showsKeys.value;
  useEffect(() => {
    // A dialog that is shown takes the focus, and gives it back as it is closed.
    if (isShown && box.current?.open === false) box.current.showModal();
    if (!isShown) box.current?.close();
  }, [isShown]);
  const close = () => {
    showsKeys.value = false;
  };
  return (
    <dialog class="keys" aria-labelledby="keys" ref={box} onClose={close}>
      {isShown && <KeyList close={close} />}
    </dialog>
  );
}

function KeyList({ close }: { readonly close: () => void }) {
  return (
    <>
      <h2 id="keys">Keys</h2>
      <button type="button" class="quiet close" aria-label="Close the list of keys" onClick={close}>
        ×
      </button>
      {KEYS.map(([title, keys]) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl>
            {keys.map(([each, what]) => (
              <div key={each}>
                <dt>{each}</dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <label>
        <input
          type="checkbox"
          checked={hasKey.value}
          onChange={({ currentTarget }) => switchKey(currentTarget.checked)}
        />{' '}
        The key ? shows this list
      </label>
    </>
  );
}
