/** The manifests that are open, and what the worker says of them. One owner: nothing else sets these signals. */
import { batch, computed, signal } from '@preact/signals';
import type { Problem } from '../../src/model/problem.ts';
import { printable } from '../../src/terminal/printable.ts';
import { CoreClient } from '../core/client.ts';
import type { Changes, Core, Edits, Files, Model, Overview, Row } from '../core/protocol.ts';

export const core = new CoreClient();

/** As they were opened, and as they are edited. */
export const base = signal<Files>([]);
export const files = signal<Files>([]);
/** The id of the example, as long as nothing else was opened. */
export const example = signal<string | undefined>(undefined);

export const model = signal<Model | undefined>(undefined);
export const changes = signal<Changes | undefined>(undefined);
export const overview = signal<Overview | undefined>(undefined);
export const problems = signal<readonly Problem[]>([]);

/** How often manifests were opened, and the name of the first file that is shown now: what an automated reader waits for. */
export const opened = signal(0);
export const judged = computed(() =>
  model.value === undefined ? undefined : printable(files.value[0]?.[0] ?? ''),
);

/** `reading`: longer than a moment, so that the page offers to stop. */
export const status = signal<'idle' | 'busy' | 'reading'>('idle');
/** What is edited cannot be read now: what is shown is from before. */
export const isStale = signal(false);
/** Why there is no answer. */
export const failure = signal<string | undefined>(undefined);
/** What of a folder was left out. */
export const leftOut = signal<string | undefined>(undefined);

export const isEdited = computed(() => !isSame(base.value, files.value));

function isSame(a: Files, b: Files): boolean {
  return a.length === b.length && a.every(([name, text], i) => name === b[i]![0] && text === b[i]![1]);
}

/** More is no manifest that a person looks at, and the page would need a multiple of it as memory. */
const MOST_BYTES = 64 * 1024 * 1024;
export const MOMENT_MS = 400;
/** Hostile texts can take a parser very long. */
const LONGEST_MS = 60_000;
/** Longer than most people take from one key to the next: a key in between waits until the matrix is made. */
const PAUSE_MS = 400;

let run = 0;

interface Opening {
  /** The id of the example. */
  readonly of?: string;
  /** The texts that are shown, if they are not these. */
  readonly edited?: Files;
  /** What of the folder is not among them. */
  readonly without?: string;
}

/** Opens manifests in place of what was open. */
export async function openFiles(given: Files, { of, edited = given, without }: Opening = {}): Promise<void> {
  const size = given.reduce((sum, [, text]) => sum + text.length, 0);
  if (size > MOST_BYTES) {
    failure.value = 'These manifests have more than 64 MB, which is more than this page reads.';
    return;
  }
  if (status.value !== 'idle') core.stop('Other manifests were opened.');
  batch(() => {
    opened.value++;
    isStale.value = false;
    base.value = given;
    files.value = edited;
    example.value = of;
    leftOut.value = without;
    model.value = undefined;
    changes.value = undefined;
    overview.value = undefined;
    problems.value = [];
  });
  const isOpened = await answered(async isCurrent => {
    const read = await openBase(given);
    if (isCurrent() && edited === given) model.value = read;
  });
  if (isOpened) await (edited === given ? readRest() : refresh());
}

/** With the same list of rows as before, if nothing of it has changed: whoever reads it need not look again. */
function withRowsOf(before: Model | undefined, now: Model): Model {
  const isSame =
    before?.rows.length === now.rows.length && now.rows.every((row, i) => isSameRow(row, before.rows[i]!));
  return isSame ? { ...now, rows: before.rows } : now;
}

function isSameRow(a: Row, b: Row): boolean {
  return a.end === b.end && a.kind === b.kind && a.member === b.member && a.part === b.part;
}

/** How often the worker had been stopped when it was opened last: the one that is started after a stop knows no base. */
let stopsAtOpening = -1;
/** What the worker was told last. */
let told: Files = [];

async function openBase(given: Files): Promise<Model> {
  const { stops } = core;
  told = given;
  const read = await core.call('open', given);
  stopsAtOpening = stops;
  return read;
}

/** Hands over what was edited since it was told last. */
function edit(now: Files): Promise<ReturnType<Core['edit']>> {
  const [before, after] = [new Map(told), new Map(now)];
  const edits: Edits = [
    ...now.filter(([name, text]) => before.get(name) !== text),
    ...told.flatMap(([name]) => (after.has(name) ? [] : [[name, undefined] as const])),
  ];
  told = now;
  return core.call('edit', edits);
}

let openingAgain: Promise<void> | undefined;

/** For a worker that was started after a stop. */
function openedAgain(): Promise<void> {
  if (stopsAtOpening === core.stops) return Promise.resolve();
  openingAgain ??= openAgain().finally(() => {
    openingAgain = undefined;
  });
  return openingAgain;
}

async function openAgain(): Promise<void> {
  const [opened, now] = [base.value, files.value];
  let judged = await openBase(opened);
  if (base.value !== opened) return;
  if (!isSame(opened, now) && (await edit(now)) !== 'unreadable') judged = await core.call('matrix');
  // Questions are of its rows.
  if (base.value === opened) model.value = withRowsOf(model.value, judged);
}

/** What is asked about the rows of the matrix, or all of it. It ends after a minute, too. */
export async function ask<M extends keyof Core>(
  method: M,
  ...args: Parameters<Core[M]>
): Promise<Awaited<ReturnType<Core[M]>>> {
  const longest = setTimeout(() => core.stop(TOO_LONG), LONGEST_MS);
  try {
    await openedAgain();
    return await core.call(method, ...args);
  } finally {
    clearTimeout(longest);
  }
}

/** Before something is typed: the first comparison judges what was opened, and later ones take that over. */
export async function prepareToEdit(): Promise<void> {
  // Whoever edits is told what goes wrong.
  await ask('edit', []).catch(() => undefined);
}

/** The texts of examples are loaded with the first of them. */
export async function openExample(id: string): Promise<void> {
  const { files: all } = await import('bundled:examplefiles');
  await openFiles(all.get(id) ?? [], { of: id });
}

/** Sets the text of a file, or adds the file. */
export function setText(name: string, text: string): void {
  const isThere = files.value.some(([each]) => each === name);
  files.value = isThere
    ? files.value.map(file => (file[0] === name ? ([name, text] as const) : file))
    : [...files.value, [name, text] as const];
  void refresh();
}

export function removeFile(name: string): void {
  files.value = files.value.filter(([each]) => each !== name);
  void refresh();
}

/** Takes all edits back. */
export function undoAll(): void {
  files.value = base.value;
  void refresh();
}

/** What is shown now is what later edits are compared with. */
export function keepAll(): void {
  void openFiles(files.value);
}

let isRefreshing = false;

/** While one text is judged, those that are typed meanwhile wait, and only the last of them is judged. */
async function refresh(): Promise<void> {
  if (isRefreshing) return;
  isRefreshing = true;
  let last: Files | undefined;
  let isDone = true;
  while (last !== files.value) {
    const now = files.value;
    last = now;
    isDone = await answered(async isCurrent => {
      await openedAgain();
      const changed = await edit(now);
      if (!isCurrent()) return;
      batch(() => {
        isStale.value = changed === 'unreadable';
        if (changed !== 'unreadable') changes.value = changed;
      });
    });
    if (!isDone) break;
  }
  isRefreshing = false;
  if (isDone) await readRest(PAUSE_MS);
}

/**
 * What takes longer than what an edit opens and closes: the matrix, and after it is painted, what is beside it. Where
 * somebody types, it waits for a pause.
 */
async function readRest(afterMs = 0): Promise<void> {
  const of = files.value;
  await new Promise(requestAnimationFrame);
  await new Promise(done => setTimeout(done, afterMs));
  if (files.value !== of) return;
  await answered(async isCurrent => {
    if (!isStale.value && (afterMs > 0 || model.value === undefined)) {
      const judged = await core.call('matrix');
      if (!isCurrent() || files.value !== of) return;
      model.value = withRowsOf(model.value, judged);
      await new Promise(requestAnimationFrame);
    }
    const [policies, found] = await Promise.all([
      isStale.value ? overview.value : core.call('overview'),
      core.call('check'),
    ]);
    if (!isCurrent() || files.value !== of) return;
    batch(() => {
      overview.value = policies;
      problems.value = found;
    });
  });
}

/** Whether it was answered. What takes too long is ended, and the page says so. */
async function answered(ask: (isCurrent: () => boolean) => Promise<void>): Promise<boolean> {
  const own = ++run;
  const isCurrent = () => own === run;
  batch(() => {
    failure.value = undefined;
    status.value = 'busy';
  });
  const moment = setTimeout(() => {
    status.value = 'reading';
  }, MOMENT_MS);
  const longest = setTimeout(() => core.stop(TOO_LONG), LONGEST_MS);
  try {
    await ask(isCurrent);
    return isCurrent();
  } catch (error) {
    if (isCurrent()) failure.value = (error as Error).message;
    return false;
  } finally {
    clearTimeout(moment);
    clearTimeout(longest);
    if (isCurrent()) status.value = 'idle';
  }
}

const TOO_LONG = 'This took longer than a minute, and was stopped: there is too much in these manifests.';

export function stopReading(): void {
  core.stop('Stopped.');
}
