/** The frame of the page: its head, and the panes beside one another, or one at a time on a narrow screen. */
import { printable } from '../src/terminal/printable.ts';
import {
  changes,
  failure,
  files,
  isEdited,
  isStale,
  judged,
  leftOut,
  model,
  opened,
  status,
} from './state/manifests.ts';
import { openEditor } from './state/place.ts';
import { isWritten } from './state/route.ts';
import { chooseTheme } from './state/theme.ts';
import { filter, isEditing, PANES, pane, selected, theme, VIEWS, type View, view } from './state/view.ts';
import { ChangeCounts } from './views/changecounts.tsx';
import { Glance } from './views/glance.tsx';
import { Keys, KeysButton } from './views/keys.tsx';
import { later } from './views/later.tsx';
import { Matrix } from './views/matrix.tsx';
import { Start } from './views/open.tsx';
import { StopButton } from './views/stopbutton.tsx';
import { Why } from './views/why.tsx';

const EditPane = later(async () => (await import('./views/edit.tsx')).EditPane);
const Focus = later(async () => (await import('./views/focus.tsx')).Focus);
const Policies = later(async () => (await import('./views/policies.tsx')).Policies);
const List = later(async () => (await import('./views/list.tsx')).List);
const ChangeList = later(async () => (await import('./views/changes.tsx')).ChangeList);

export function App() {
  if (files.value.length === 0)
    return (
      <>
        <Head />
        <main class="look start-main">
          <Failure />
          <Start />
        </main>
        <Keys />
      </>
    );
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to the matrix
      </button>
      <Head />
      <main
        class="panes"
        data-pane={pane.value}
        data-editing={isEditing.value}
        data-status={status.value === 'idle' ? 'idle' : 'busy'}
        data-opened={judged.value}
        data-number={opened.value}
        data-linked={isWritten.value}
      >
        {isEditing.value && <EditPane />}
        <div class="look" id="look" tabIndex={-1}>
          <Failure />
          <LeftOut />
          <NothingRead />
          {isStale.value && (
            <p class="stale" role="status">
              A document cannot be parsed now: this is how it was before.
            </p>
          )}
          {model.value === undefined ? <Waiting /> : <Look />}
        </div>
        <div class="beside">{selected.value === undefined ? <Glance /> : <Why />}</div>
      </main>
      <Keys />
      <nav class="pane-choice" aria-label="Panes">
        {PANES.map(each => (
          <button
            key={each}
            type="button"
            aria-pressed={pane.value === each}
            onClick={() => {
              if (each === 'edit') openEditor();
              else pane.value = each;
            }}
          >
            {each === 'why' && selected.value === undefined ? 'Glance' : PANE_NAMES[each]}
          </button>
        ))}
      </nav>
    </>
  );
}

const PANE_NAMES = { look: 'Look', edit: 'Edit', why: 'Why' } as const;

/** No link, as the address has the state of the page. */
function skip(): void {
  document.querySelector<HTMLElement>('#look')?.focus();
}

const NAMES: Record<View, string> = {
  matrix: 'Matrix',
  focus: 'Focus',
  policies: 'Policies',
  list: 'List',
  changes: 'Changes',
};

function Head() {
  const isOpen = files.value.length > 0;
  const { workloads = 0, policies = 0 } = model.value?.counts ?? {};
  return (
    <header class="head">
      <h1>
        <Logo /> <span>Sluice</span>
      </h1>
      {isOpen && (
        <>
          <nav class="views" aria-label="Views">
            {VIEWS.map(each => (
              <button
                key={each}
                type="button"
                aria-current={view.value === each ? 'page' : undefined}
                onClick={() => {
                  view.value = each;
                  pane.value = 'look';
                }}
              >
                {NAMES[each]}
                {each === 'changes' && <ChangeCounts />}
              </button>
            ))}
          </nav>
          <input
            type="search"
            class="filter"
            aria-label="Filter by name; a word with - before it is left out"
            placeholder="Filter: shop -jobs"
            value={filter.value}
            onInput={({ currentTarget }) => {
              filter.value = currentTarget.value;
            }}
          />
          <span class="counts">
            {status.value === 'idle' ? `${workloads} workloads · ${policies} policies` : 'judging…'}{' '}
            {status.value === 'reading' && model.value !== undefined && <StopButton />}
          </span>
          <p class="out-of-sight" role="status">
            {isEdited.value && changes.value?.summary}
          </p>
          <button
            type="button"
            class="edit-button"
            aria-pressed={isEditing.value}
            onClick={() => {
              if (!isEditing.value) openEditor();
              else [isEditing.value, pane.value] = [false, 'look'];
            }}
          >
            Edit
          </button>
        </>
      )}
      <KeysButton />
      <button
        type="button"
        class="theme"
        aria-label={theme.value === 'light' ? 'Dark colours' : 'Light colours'}
        onClick={() => chooseTheme(theme.value === 'light' ? 'dark' : 'light')}
      >
        {theme.value === 'light' ? '☾' : '☀'}
      </button>
    </header>
  );
}

function Logo() {
  return (
    <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <path d="M2 2h16M4 2v16M16 2v16" fill="none" stroke="currentColor" stroke-width="2" />
      <rect x="6.5" y="5" width="7" height="7" fill="var(--accent)" />
      <path
        d="M1 18q2.2-2 4.5 0t4.5 0t4.5 0t4.500 0"
        fill="none"
        stroke="var(--accent)"
        stroke-width="1.600"
      />
    </svg>
  );
}

function Look() {
  switch (view.value) {
    case 'focus':
      return <Focus />;
    case 'policies':
      return <Policies />;
    case 'list':
      return <List />;
    case 'changes':
      return <ChangeList />;
    default:
      return <Matrix />;
  }
}

function Waiting() {
  if (status.value !== 'reading') return null;
  return (
    <p class="empty" role="status">
      Reading the manifests… <StopButton />
    </p>
  );
}

/** Of a file that is no text, or of nothing that Kubernetes has, the matrix would be empty without a word. */
function NothingRead() {
  const { workloads, policies } = model.value?.counts ?? {};
  if (workloads !== 0 || policies !== 0) return null;
  return (
    <p class="stale" role="status">
      There is no workload and no policy in these manifests.
    </p>
  );
}

function LeftOut() {
  if (leftOut.value === undefined) return null;
  return (
    <p class="stale" role="status">
      {leftOut.value}{' '}
      <button
        type="button"
        class="quiet"
        onClick={() => {
          leftOut.value = undefined;
        }}
      >
        Close
      </button>
    </p>
  );
}

function Failure() {
  return failure.value === undefined ? null : (
    <p class="failure" role="alert">
      {printable(failure.value)}
    </p>
  );
}
