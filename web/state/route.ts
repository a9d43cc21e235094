/** Keeps the address and the signals equal, so that every state of the page is a link. */

import { examples } from 'bundled:examples';
import { effect, signal } from '@preact/signals';
import type { Files } from '../core/protocol.ts';
import { wantedCell } from './cursor.ts';
import { base, core, example, failure, files, isEdited, openExample, openFiles } from './manifests.ts';
import { MOST_FILES } from './mostfiles.ts';
import { wantedLine } from './place.ts';
import {
  file,
  filter,
  focused,
  folds,
  hidesCommon,
  isEditing,
  isProposing,
  line,
  PANES,
  PROTOCOLS,
  pane,
  parts,
  selected,
  showsKeys,
  startNamespace,
  VIEWS,
  view,
} from './view.ts';

/** Empty where the manifests are too large for a link. */
let manifestsPart = '';
let written = '';
/** Whether the link says how something is shown, and not what: its manifests are too large for it. */
export const lacksManifests = signal(false);
/** Whether the address has all that is shown: it is written a little later. */
export const isWritten = signal(true);

/** Reads the address, and follows it from now on. */
export async function startRouting(): Promise<void> {
  // It may be changed while the manifests of the first one are read.
  addEventListener('hashchange', () => {
    if (location.hash !== written) void readAddress();
  });
  await readAddress();
  effect(() => void packManifests());
  effect(() => writeAddress(viewPart()));
}

async function readAddress(): Promise<void> {
  written = location.hash;
  // What was open before is no part of it.
  clearTimeout(packing);
  packing = undefined;
  const given = new URLSearchParams(location.hash.slice(1));
  readView(given);
  const [id, text] = [given.get('example'), given.get('z')];
  const found = examples.find(each => each.id === id);
  manifestsPart = text !== null ? `z=${text}` : found !== undefined ? `example=${found.id}` : '';
  try {
    if (text !== null) {
      const { unpacked } = await import('./link.ts');
      const linked = await unpacked(text);
      await openFiles(linked.base, linked.edited && { edited: linked.edited });
    } else if (found !== undefined) await openExample(found.id);
  } catch (error) {
    failure.value = `The manifests of this link cannot be read: ${(error as Error).message}.`;
  }
  lacksManifests.value = manifestsPart === '' && viewPart() !== '';
}

function readView(given: URLSearchParams): void {
  view.value = VIEWS.find(each => each === given.get('v')) ?? 'matrix';
  filter.value = given.get('q') ?? '';
  hidesCommon.value = given.has('hide');
  focused.value = given.get('at') ?? undefined;
  isEditing.value = given.has('edit');
  file.value = given.get('file') ?? undefined;
  line.value = numbersOf(given, 'line')[0] ?? 1;
  wantedLine.value =
    line.value > 1
      ? { ...(file.value !== undefined && { file: file.value }), line: line.value, isQuiet: true }
      : undefined;
  startNamespace.value = given.get('in') ?? undefined;
  showsKeys.value = given.has('keys');
  pane.value = PANES.find(each => each === given.get('pane')) ?? 'look';
  folds.value = new Map([
    ...given.getAll('open').map(name => [name, true] as const),
    ...given.getAll('fold').map(name => [name, false] as const),
  ]);
  parts.value = new Map([
    ...given.getAll('more').map(name => [name, true] as const),
    ...given.getAll('less').map(name => [name, false] as const),
  ]);
  const [row = 0, column = 0] = numbersOf(given, 'cell');
  wantedCell.value = [row, column];
  isProposing.value = given.has('fix');
  const [from, to, port, protocol] = given.getAll('why');
  const known = PROTOCOLS.find(each => each === protocol);
  selected.value =
    from === undefined || to === undefined
      ? undefined
      : { from, to, ...(port !== undefined && { port }), ...(known !== undefined && { protocol: known }) };
}

/** Whole numbers. Others are left out. */
function numbersOf(given: URLSearchParams, name: string): readonly number[] {
  return given.getAll(name).map(Number).filter(Number.isSafeInteger);
}

/** In the order that they are read in, so that a link stays as it is. */
function openFirst(all: ReadonlyMap<string, boolean>) {
  return [...all].sort(([, a], [, b]) => Number(b) - Number(a));
}

function viewPart(): string {
  const part = new URLSearchParams();
  if (view.value !== 'matrix') part.set('v', view.value);
  if (filter.value !== '') part.set('q', filter.value);
  if (hidesCommon.value) part.set('hide', '');
  if (focused.value !== undefined) part.set('at', focused.value);
  if (isEditing.value) part.set('edit', '');
  if (isEditing.value && file.value !== undefined) part.set('file', file.value);
  if (isEditing.value && line.value > 1) part.set('line', String(line.value));
  if (startNamespace.value !== undefined) part.set('in', startNamespace.value);
  if (showsKeys.value) part.set('keys', '');
  if (pane.value !== 'look') part.set('pane', pane.value);
  for (const [name, isOpen] of openFirst(folds.value)) part.append(isOpen ? 'open' : 'fold', name);
  for (const [name, isOpen] of openFirst(parts.value)) part.append(isOpen ? 'more' : 'less', name);
  if (wantedCell.value.some(at => at > 0)) for (const at of wantedCell.value) part.append('cell', String(at));
  if (isProposing.value) part.set('fix', '');
  const { from, to, port, protocol } = selected.value ?? {};
  for (const each of [from, to, port, protocol]) if (each !== undefined) part.append('why', each);
  return part.toString();
}

/** Not at each letter that is typed. */
const PACKED_AFTER_MS = 500;
/** Undefined once the link has the manifests as they are. */
let packing: ReturnType<typeof setTimeout> | undefined;

function packManifests(): void {
  const [opened, edited, of, isChanged] = [base.value, files.value, example.value, isEdited.value];
  clearTimeout(packing);
  isWritten.value = false;
  const own = setTimeout(
    async () => {
      const part = await partOf(opened, isChanged ? edited : undefined, of);
      // They were edited meanwhile.
      if (packing !== own) return;
      packing = undefined;
      manifestsPart = part;
      if (edited.length > 0) lacksManifests.value = part === '';
      writeAddress(viewPart());
    },
    of !== undefined && !isChanged ? 0 : PACKED_AFTER_MS,
  );
  packing = own;
}

/** Where the worker was stopped before it left the Secrets out, the link has no manifests. */
async function partOf(opened: Files, edited: Files | undefined, of: string | undefined): Promise<string> {
  if (opened.length === 0 && (edited ?? opened).length === 0) return '';
  if (of !== undefined && edited === undefined) return `example=${encodeURIComponent(of)}`;
  // The page must not write what it refuses to open.
  if (Math.max(opened.length, edited?.length ?? 0) > MOST_FILES) return '';
  const linked = { base: opened, ...(edited && { edited }) };
  try {
    const { verbatim } = await core.call('linkText', linked);
    return verbatim === '' ? '' : `z=${verbatim}`;
  } catch {
    return '';
  }
}

/** A browser refuses more than a hundred changes of the address within half a minute: a key that is held makes more. */
const EACH_MS = 400;
/** As many are made at once: who acts and reloads at the same moment finds it as it was. */
const AT_ONCE = 20;
/** When all changes until now would be made, if each took its time. */
let doneAt = 0;
let writing: ReturnType<typeof setTimeout> | undefined;

/** At once, or as soon as it may be written again. */
function writeAddress(part: string): void {
  const fragment = [part, manifestsPart].filter(each => each !== '').join('&');
  clearTimeout(writing);
  isWritten.value = false;
  const write = () => {
    isWritten.value = packing === undefined;
    if (fragment === '' && location.hash === '') return;
    // Where somebody else changed it, it is about to be read.
    if (location.hash !== written) return;
    history.replaceState(null, '', `#${fragment}`);
    written = location.hash;
    doneAt = Math.max(doneAt, performance.now()) + EACH_MS;
  };
  const waitMs = doneAt - AT_ONCE * EACH_MS - performance.now();
  if (waitMs > 0) writing = setTimeout(write, waitMs);
  else write();
}
