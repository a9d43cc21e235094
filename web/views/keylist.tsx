/** What the keys do. */
import { hasKey, hideKeys, switchKey } from '../state/keys.ts';

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

export function KeyList() {
  return (
    <>
      <h2 id="keys">Keys</h2>
      <button type="button" class="quiet close" aria-label="Close the list of keys" onClick={hideKeys}>
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
