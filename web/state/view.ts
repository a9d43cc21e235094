/** What of the cluster is shown, and how: all of it is in the address (route.ts), but for what a person chose for good (kept.ts). */
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
/** The file in the editor, and the line of its cursor. */
export const file = signal<string | undefined>(undefined);
export const line = signal(1);
/** The namespace of policies to begin with. */
export const startNamespace = signal<string | undefined>(undefined);
/** Parts of the page that were opened or closed by hand (views/part.tsx), by name. */
export const parts = signal<ReadonlyMap<string, boolean>>(new Map());
/** Whether a policy is wanted that turns the verdict. */
export const isProposing = signal(false);
/** Whether the list of the keys is shown. */
export const showsKeys = signal(false);
export const PANES = ['look', 'edit', 'why'] as const;
/** On a narrow screen one of three. */
export const pane = signal<(typeof PANES)[number]>('look');

export const PROTOCOLS = ['TCP', 'UDP', 'SCTP', 'ICMP'] as const;

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

/** How the parts of a walk are named, which are of one question. */
export const STOP_PART = 'stop ';

type AskedPort = Pick<Selection, 'port' | 'protocol'>;

export function select(from: Row, to: Row, port: AskedPort = {}): void {
  selected.value = { from: keyOf(from), to: keyOf(to), ...port };
  isProposing.value = false;
  parts.value = new Map([...parts.value].filter(([name]) => !name.startsWith(STOP_PART)));
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
