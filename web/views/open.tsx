/** Opening manifests: by paste, drop, folder, file or example. */
import { examples } from 'bundled:examples';
import { signal } from '@preact/signals';
import type { Files } from '../core/protocol.ts';
import { failure, openExample, openFiles } from '../state/manifests.ts';
import { folds, selected } from '../state/view.ts';

export function Start() {
  return (
    <div class="start">
      <h2>See who reaches whom, ask why, and watch what an edit opens and closes</h2>
      <p>
        Drop manifests or a folder of them here, paste them below, or begin with an example. They are read and
        judged in this page: nothing ever leaves the browser.
      </p>
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

/** Other manifests are another cluster: what was chosen and folded in the last one says nothing of it. */
function begin(opening: () => Promise<void>): void {
  selected.value = undefined;
  folds.value = new Map();
  void opening();
}

function open(files: Files): void {
  begin(() => openFiles(files));
}

export function OpenButtons() {
  const take = (list: FileList | null) =>
    void openAll([...(list ?? [])].map(each => [each.webkitRelativePath || each.name, each]));
  return (
    <p class="open-buttons">
      <label class="button">
        Files
        <input
          class="out-of-sight"
          type="file"
          multiple
          accept=".yaml,.yml,.json"
          onChange={({ currentTarget }) => take(currentTarget.files)}
        />
      </label>{' '}
      <label class="button">
        Folder
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

type Named = readonly [name: string, file: File];

const MANIFEST = /\.(?:ya?ml|json)$/i;
const MOST_FILES = 5_000;
const MOST_BYTES = 64 * 1024 * 1024;

async function openAll(all: readonly Named[]): Promise<void> {
  const wanted =
    all.length === 1
      ? all
      : all.filter(([name]) => MANIFEST.test(name) && !/(?:^|\/)(?:node_modules|\.git)\//.test(name));
  const size = wanted.reduce((sum, [, file]) => sum + file.size, 0);
  if (wanted.length === 0)
    failure.value = 'There is no manifest in what was given: no file ends in .yaml, .yml or .json.';
  else if (wanted.length > MOST_FILES || size > MOST_BYTES)
    failure.value = `These are ${wanted.length} files of ${Math.ceil(size / 2 ** 20)} MB, which is more than this page reads.`;
  else {
    const texts = await Promise.all(wanted.map(async ([name, file]) => [name, await file.text()] as const));
    open(texts.sort(([a], [b]) => (a < b ? -1 : 1)));
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
    if (entries.length > 0) void dropped(entries);
    else if (files.length > 0) void openAll(files.map(each => [each.name, each]));
  });
  addEventListener('paste', event => {
    const text = event.clipboardData?.getData('text/plain') ?? '';
    const isField = (event.composedPath()[0] as Partial<HTMLElement>)?.closest?.(
      'input, textarea, [contenteditable]',
    );
    if (!isField && /^(?:apiVersion|kind):|"apiVersion"/m.test(text)) open([['pasted.yaml', text]]);
  });
}

async function dropped(entries: readonly FileSystemEntry[]): Promise<void> {
  const found: Named[] = [];
  for (const entry of entries) await collect(entry, found);
  await openAll(found);
}

async function collect(entry: FileSystemEntry, found: Named[]): Promise<void> {
  if (found.length > MOST_FILES || /^(?:node_modules|\.git)$/.test(entry.name)) return;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    );
    found.push([entry.fullPath.replace(/^\//, ''), file]);
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // A reader gives a hundred entries at a time.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return;
    for (const each of some) await collect(each, found);
  }
}
