/** What of the cluster is shown, and how: all of it is in the address (route.ts), but for the theme. */
import { computed, signal } from '@preact/signals';
import type { Row } from '../core/protocol.ts';
import { model } from './manifests.ts';

export const VIEWS = ['matrix', 'focus', 'policies', 'list', 'changes'] as const;
export type View = (typeof VIEWS)[number];

export const view = signal<View>('matrix');
/** Words, of which each has to be in a line's name; one with `-` before it must not. */
export const filter = signal('');
/** Folds of namespaces that were set by hand. */
export const folds = signal<ReadonlyMap<string, boolean>>(new Map());
/** Whether what every workload may do alike is left out. */
export const hidesCommon = signal(false);
/** The row in the middle of the focus, by its key. */
export const focused = signal<string | undefined>(undefined);
export const isEditing = signal(false);
/** The file in the editor. */
export const file = signal<string | undefined>(undefined);
export const PANES = ['look', 'edit', 'why'] as const;
/** On a narrow screen one of three. */
export const pane = signal<(typeof PANES)[number]>('look');

export interface Selection {
  readonly from: string;
  readonly to: string;
  readonly port?: string;
  readonly protocol?: string;
}

/** The connection that is explained. */
export const selected = signal<Selection | undefined>(undefined);

/** A key for each row that stays the same while manifests are edited. */
export function keyOf({ member, part }: Row): string {
  return part === undefined ? member : `${member} (${part})`;
}

export const rowsByKey = computed<ReadonlyMap<string, number>>(
  () => new Map((model.value?.rows ?? []).map((row, i) => [keyOf(row), i])),
);

type AskedPort = Pick<Selection, 'port' | 'protocol'>;

export function select(from: Row, to: Row, port: AskedPort = {}): void {
  selected.value = { from: keyOf(from), to: keyOf(to), ...port };
  pane.value = 'why';
}

/** Puts an end in the middle. */
export function focusOn(row: Row): void {
  focused.value = keyOf(row);
  view.value = 'focus';
  pane.value = 'look';
}

/** `shop/web`; of others than workloads their name. */
export function nameOf({ kind, group, name }: Pick<Row, 'kind' | 'group' | 'name'>): string {
  return kind === 'workload' ? `${group}/${name}` : name;
}

/** Whether a name has all words of the filter, and none that it leaves out. */
export function passes(name: string, words: string): boolean {
  const lower = name.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(word =>
      word.startsWith('-') && word.length > 1
        ? !lower.includes(word.slice(1))
        : lower.includes(word.replace(/^-$/, '')),
    );
}

export type Theme = 'light' | 'dark';

export const theme = signal<Theme>(
  globalThis.matchMedia?.('(prefers-color-scheme: dark)').matches ? 'dark' : 'light',
);
