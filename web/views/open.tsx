/** Opening manifests: by paste, drop, folder, file or example. */
import { examples } from 'bundled:examples';
import { signal } from '@preact/signals';
import type { Files } from '../core/protocol.ts';
import { wantedCell } from '../state/cursor.ts';
import type * as Folder from '../state/folder.ts';
import { isOfField } from '../state/keys.ts';
import { failure, files, openExample, openFiles } from '../state/manifests.ts';
import { lacksManifests } from '../state/route.ts';
import { folds, parts, selected } from '../state/view.ts';

export function Start() {
  return (
    <div class="start">
      <h2>See who reaches whom, ask why, and watch what an edit opens and closes</h2>
      <p>
        Drop manifests or a folder of them here, paste them below, or begin with an example. They are read and
        judged in this page: nothing ever leaves the browser.
      </p>
      {lacksManifests.value && (
        <p class="stale" role="status">
          This link has no manifests: they are too large for one, or of an example that is not here. Open
          them, and they are shown as it says.
        </p>
      )}
      <OpenButtons />
      <PasteBox />
      <h3>Examples</h3>
      <ul class="examples">
        {examples.map(({ id, title }) => (
          <li key={id}>
            <button type="button" onClick={() => begin(() => openExample(id))}>
              <b>{id}</b> {title}
            </button>
          </li>
        ))}
      </ul>
      <p class="hint">
        NetworkPolicy, ClusterNetworkPolicy, AdminNetworkPolicy and BaselineAdminNetworkPolicy; pods,
        workloads, namespaces, nodes and Services, as <code>kubectl get … -o yaml</code> prints them.
      </p>
    </div>
  );
}

/** Other manifests are another cluster: what was chosen, folded and opened in the last one says nothing of it. */
function begin(opening: () => Promise<void>): void {
  // On the first page what is chosen is of a link, and of these manifests, which were too large for it.
  if (files.value.length > 0) {
    selected.value = undefined;
    folds.value = new Map();
    parts.value = new Map();
    wantedCell.value = [0, 0];
  }
  void opening();
  // The button or field that was used is gone, and the focus with it.
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) document.querySelector<HTMLElement>('#look')?.focus();
  });
}

function open(files: Files): void {
  begin(() => openFiles(files));
}

export function OpenButtons() {
  const take = (list: FileList | null) => {
    const all = [...(list ?? [])].map(each => [each.webkitRelativePath || each.name, each] as const);
    void openSorted(({ sortedFiles }) => sortedFiles(all));
  };
  return (
    <p class="open-buttons">
      <label class="button">
        Open files
        <input
          class="out-of-sight"
          type="file"
          multiple
          accept=".yaml,.yml,.json"
          onChange={({ currentTarget }) => take(currentTarget.files)}
        />
      </label>{' '}
      <label class="button">
        Open a folder
        <input
          class="out-of-sight"
          type="file"
          ref={input => input?.setAttribute('webkitdirectory', '')}
          onChange={({ currentTarget }) => take(currentTarget.files)}
        />
      </label>
    </p>
  );
}

const pasted = signal('');

function PasteBox() {
  return (
    <form
      class="paste"
      onSubmit={event => {
        event.preventDefault();
        if (pasted.value.trim() !== '') open([['pasted.yaml', pasted.value]]);
      }}
    >
      <textarea
        aria-label="Manifests"
        rows={6}
        placeholder="apiVersion: networking.k8s.io/v1&#10;kind: NetworkPolicy&#10;…"
        spellcheck={false}
        value={pasted.value}
        onInput={({ currentTarget }) => {
          pasted.value = currentTarget.value;
        }}
      />
      <button type="submit">Open what is pasted</button>
    </form>
  );
}

/** What sorts them is loaded with the first of them. */
async function openSorted(
  sort: (folder: typeof Folder) => Folder.Sorted | Promise<Folder.Sorted>,
): Promise<void> {
  try {
    const folder = await import('../state/folder.ts');
    const read = await folder.textsOf(await sort(folder));
    if ('failure' in read) failure.value = read.failure;
    else begin(() => openFiles(read.files, read.without === undefined ? {} : { without: read.without }));
  } catch (error) {
    // As where a file goes away after it was chosen.
    failure.value = `It cannot be read: ${(error as Error).message}`;
  }
}

/** Files and folders may be dropped anywhere on the page, and manifests pasted where no field is. */
export function startDropping(): void {
  addEventListener('dragover', event => event.preventDefault());
  addEventListener('drop', event => {
    event.preventDefault();
    const entries = [...(event.dataTransfer?.items ?? [])].flatMap(item => item.webkitGetAsEntry() ?? []);
    // Not every browser, and no program, has entries of what is dropped: then folders are missing.
    const files = [...(event.dataTransfer?.files ?? [])];
    if (entries.length > 0) void openSorted(({ sortedEntries }) => sortedEntries(entries));
    else if (files.length > 0)
      void openSorted(({ sortedFiles }) => sortedFiles(files.map(each => [each.name, each])));
  });
  addEventListener('paste', event => {
    const text = event.clipboardData?.getData('text/plain') ?? '';
    if (!isOfField(event) && /^(?:apiVersion|kind):|"apiVersion"/m.test(text)) open([['pasted.yaml', text]]);
  });
}
