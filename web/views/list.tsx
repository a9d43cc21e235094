/** All connections as a list, line by line: for screen readers, and for whoever searches. */
import { computed, signal } from '@preact/signals';
import type { DocumentFormat } from '../core/protocol.ts';
import { isHidden, typeAt } from '../state/grid.ts';
import { ask, model } from '../state/manifests.ts';
import { saveText } from '../state/save.ts';
import { filter, keyOf, nameOf, passes, select } from '../state/view.ts';

interface Connection {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

const connections = computed<readonly Connection[]>(() => {
  const of = model.value;
  if (of === undefined) return [];
  const found: Connection[] = [];
  const names = of.rows.map(nameOf);
  for (const from of of.rows.keys())
    for (const to of of.rows.keys()) {
      const { kind, text } = typeAt(of, from, to);
      if (kind === 'apart' || kind === 'none' || isHidden(of, from, to)) continue;
      if (passes(`${names[from]} ${names[to]}`, filter.value)) found.push({ from, to, text });
    }
  return found;
});

const STEP = 500;
const most = signal(STEP);

export function List() {
  const all = connections.value;
  const of = model.value;
  if (of === undefined) return null;
  return (
    <div class="list">
      <p class="list-tools">
        {all.length.toLocaleString('en')} {all.length === 1 ? 'connection' : 'connections'}. The whole matrix
        as a file:{' '}
        {(['html', 'csv', 'md', 'json'] as const).map(format => (
          <button key={format} type="button" class="quiet" onClick={() => void save(format)}>
            {format === 'md' ? 'Markdown' : format.toUpperCase()}
          </button>
        ))}
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">from</th>
            <th scope="col">to</th>
            <th scope="col">connections</th>
          </tr>
        </thead>
        <tbody>
          {all.slice(0, most.value).map(({ from, to, text }) => {
            const [source, target] = [of.rows[from]!, of.rows[to]!];
            return (
              <tr key={`${from} ${to}`} data-from={keyOf(source)} data-to={keyOf(target)}>
                <td>
                  {nameOf(source)}
                  {source.part !== undefined && ` (${source.part})`}
                </td>
                <td>
                  {nameOf(target)}
                  {target.part !== undefined && ` (${target.part})`}
                </td>
                <td>
                  <button type="button" class="quiet" onClick={() => select(source, target)}>
                    {text}
                  </button>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {all.length > most.value && (
        <button
          type="button"
          onClick={() => {
            most.value += STEP;
          }}
        >
          Show {Math.min(STEP, all.length - most.value)} more
        </button>
      )}
      <p class="hint">{of.legend}</p>
    </div>
  );
}

async function save(format: DocumentFormat): Promise<void> {
  saveText(`matrix.${format}`, (await ask('document', format)).verbatim);
}
