/** The manifests: their files as tabs, the editor, which is loaded when it is first shown, and what can be done with an edit. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { printable } from '../../src/terminal/printable.ts';
import type { ManifestEditor } from '../editor/editor.ts';
import {
  base,
  files,
  isEdited,
  keepAll,
  model,
  opened,
  overview,
  prepareToEdit,
  problems,
  removeFile,
  setText,
  undoAll,
} from '../state/manifests.ts';
import { currentName, wantedLine } from '../state/place.ts';
import { file, isEditing, line, pane, theme } from '../state/view.ts';
import { Export } from './export.tsx';
import { OpenButtons } from './open.tsx';
import { Part } from './part.tsx';
import { StartPoints } from './startpoints.tsx';

const trouble = signal<string | undefined>(undefined);

export function EditPane() {
  const name = currentName.value;
  const isRead = model.value !== undefined;
  useEffect(() => {
    if (isRead) void prepareToEdit();
  }, [opened.value, isRead]);
  return (
    <section class="edit" aria-label="Manifests">
      <Tabs current={name} />
      <Editor name={name} />
      {trouble.value !== undefined && <p class="failure">{trouble.value}</p>}
      <Problems name={name} />
      <div class="edit-tools" tabIndex={-1}>
        {isEdited.value && (
          <p>
            <button
              type="button"
              onClick={({ currentTarget }) => {
                // The button goes away, and with it the focus.
                currentTarget.closest<HTMLElement>('.edit-tools')?.focus();
                undoAll();
              }}
            >
              Undo all edits
            </button>{' '}
            <button
              type="button"
              class="quiet"
              onClick={keepAll}
              title="Compare later edits with what is here now"
            >
              Compare from here
            </button>
          </p>
        )}
        <StartPoints />
        <Export />
        <Part name="open">
          <summary>Open others</summary>
          <OpenButtons />
          <button
            type="button"
            class="quiet"
            onClick={() => {
              location.hash = '';
              location.reload();
            }}
          >
            Back to the start
          </button>
        </Part>
      </div>
    </section>
  );
}

function Tabs({ current }: { readonly current: string | undefined }) {
  const before = new Map(base.value);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current, isEdited.value]);
  return (
    <div class="tabs">
      <ul ref={list}>
        {files.value.map(([name, text]) => (
          <li key={name}>
            <button
              type="button"
              title={printable(name)}
              aria-current={name === current ? 'true' : undefined}
              onClick={() => {
                file.value = printable(name);
              }}
            >
              {printable(name).replace(/^.*\/(?=[^/]+\/[^/]*$)/, '…/')}
              {before.get(name) !== text && (
                <span class="edited">
                  {' '}
                  <span aria-hidden="true">●</span>
                  <span class="out-of-sight">edited</span>
                </span>
              )}
            </button>
          </li>
        ))}
      </ul>
      <button type="button" class="quiet" aria-label="Add a file" onClick={addFile}>
        +
      </button>
      {current !== undefined && files.value.length > 1 && (
        <button
          type="button"
          class="quiet"
          aria-label={`Remove ${printable(current)}`}
          onClick={() => removeFile(current)}
        >
          ×
        </button>
      )}
      <button
        type="button"
        class="quiet"
        aria-label="Close the editor"
        onClick={() => {
          isEditing.value = false;
          pane.value = 'look';
        }}
      >
        ⟨
      </button>
    </div>
  );
}

function addFile(): void {
  const taken = new Set(files.value.map(([name]) => name));
  let number = 1;
  while (taken.has(`new-${number}.yaml`)) number++;
  setText(`new-${number}.yaml`, '');
  file.value = `new-${number}.yaml`;
}

function Editor({ name }: { readonly name: string | undefined }) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<ManifestEditor>(undefined);
  const text = files.value.find(([each]) => each === name)?.[1] ?? '';
  useEffect(() => {
    let isGone = false;
    const start = async () => {
      try {
        const { ManifestEditor: Made } = await import('../editor/editor.ts');
        if (isGone || host.current === null) return;
        editor.current = new Made(host.current, { typed: setText, moved: noteLine });
        show();
        mark();
        go();
      } catch (error) {
        trouble.value = `The editor cannot be loaded: ${(error as Error).message}`;
      }
    };
    void start();
    return () => {
      isGone = true;
      editor.current?.close();
      editor.current = undefined;
    };
  }, []);
  const show = () => {
    const now = currentName.value;
    if (now === undefined) return;
    editor.current?.show(now, files.value.find(([each]) => each === now)?.[1] ?? '');
  };
  const mark = () => {
    const now = currentName.value;
    if (now === undefined) return;
    editor.current?.setProblems(problems.value.filter(problem => problem.file === printable(now)));
    editor.current?.setVocabulary(overview.value?.vocabulary);
    editor.current?.setTheme(theme.value);
  };
  useEffect(show, [name, text]);
  // Not at each key: marks move with the text by themselves.
  useEffect(mark, [name, problems.value, overview.value, theme.value]);
  const go = () => {
    const { file: of, line: at, isQuiet } = wantedLine.peek() ?? {};
    const isHere = of === undefined || of === printable(currentName.value ?? '');
    if (editor.current === undefined || at === undefined || !isHere) return;
    editor.current.goTo(at, isQuiet);
    wantedLine.value = undefined;
  };
  useEffect(go, [wantedLine.value, name]);
  return <div class="editor" ref={host} />;
}

function noteLine(at: number): void {
  line.value = at;
}

const MOST_PROBLEMS = 5;

function Problems({ name }: { readonly name: string | undefined }) {
  const own = problems.value.filter(problem => name !== undefined && problem.file === printable(name));
  if (own.length === 0) return null;
  return (
    <ul class="problems" aria-label="Problems of this file">
      {own.slice(0, MOST_PROBLEMS).map((problem, i) => (
        <li key={i} data-severity={problem.severity}>
          <button
            type="button"
            class="quiet where"
            onClick={() => {
              wantedLine.value = { file: problem.file!, line: problem.line ?? 1 };
            }}
          >
            {problem.line ?? '?'}
          </button>
          <span>
            {/* A field is of the object at its line; what is wrong as a whole says of what. */}
            {problem.field ?? problem.object} {problem.message}; {problem.effect}
          </span>
        </li>
      ))}
      {own.length > MOST_PROBLEMS && <li>and {own.length - MOST_PROBLEMS} more</li>}
    </ul>
  );
}
