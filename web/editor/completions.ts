/**
 * What can be written at the cursor: the fields of the policy APIs, as their decoders read them, and the labels, namespaces
 * and ports of the cluster.
 */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { Vocabulary } from '../core/protocol.ts';
import { fieldsAt, VALUES } from './fields.ts';

export function completions(
  context: CompletionContext,
  vocabulary: Vocabulary | undefined,
): CompletionResult | null {
  const { state, pos } = context;
  const line = state.doc.lineAt(pos);
  const before = line.text.slice(0, pos - line.from);
  const [, lead = '', key, word = ''] =
    /^(\s*(?:- +)*)(?:([\w./-]+): +)?["']?([\w./:-]*)$/.exec(before) ?? [];
  if (/#/.test(before) || (word === '' && key === undefined && !context.explicit)) return null;
  const path = pathAt(linesUntil(context, line.number), lead.length);
  const options =
    key === undefined ? keysAt(path, kindOf(context), vocabulary) : valuesOf(path, key, vocabulary);
  if (options.length === 0) return null;
  return { from: pos - word.length, options, validFor: /^[\w./:-]*$/ };
}

function linesUntil({ state }: CompletionContext, number: number): string[] {
  const lines: string[] = [];
  for (let each = number - 1; each >= 1; each--) {
    const { text } = state.doc.line(each);
    if (/^---/.test(text)) break;
    lines.unshift(text);
  }
  return lines;
}

/** The keys above a line, from the outside in: `spec`, `ingress`, `from`, `podSelector`. Dashes count as indentation. */
function pathAt(lines: readonly string[], indent: number): readonly string[] {
  const path: string[] = [];
  let within = indent;
  for (const text of lines.toReversed()) {
    const [, lead, key] = /^((?: |- )*)([\w./-]+):(?:\s|$)/.exec(text) ?? [];
    if (lead === undefined || key === undefined || lead.length >= within) continue;
    path.unshift(key);
    within = lead.length;
  }
  return path;
}

/** The kind that the lines of a document say, above or below. */
function kindOf({ state, pos }: CompletionContext): string {
  const text = state.doc.toString();
  const start = text.lastIndexOf('\n---', pos) + 1;
  const end = text.indexOf('\n---', pos);
  return /^kind: *(\w+)/m.exec(text.slice(start, end === -1 ? undefined : end))?.[1] ?? '';
}

function keysAt(path: readonly string[], kind: string, vocabulary: Vocabulary | undefined): Completion[] {
  const parent = path.at(-1);
  if (parent === 'matchLabels' || parent === 'labels') {
    const labels = labelsFor(path, vocabulary);
    return Object.keys(labels).map(label => ({
      label,
      apply: `${label}: `,
      type: 'property',
      detail: 'label of the cluster',
    }));
  }
  return fieldsAt(kind, path).map(label => ({ label, apply: `${label}: `, type: 'property' }));
}

function valuesOf(path: readonly string[], key: string, vocabulary: Vocabulary | undefined): Completion[] {
  const words = (all: readonly string[], detail: string) =>
    all.map(label => ({ label, type: 'enum', detail }));
  // A key that is typed may be `constructor`.
  const fixed = Object.hasOwn(VALUES, key) ? VALUES[key] : undefined;
  if (fixed !== undefined) return words(fixed, key);
  if (vocabulary === undefined) return [];
  if (key === 'namespace') return words(vocabulary.namespaces, 'namespace of the cluster');
  if (key === 'port' || key === 'number' || key === 'namedPort')
    return words(vocabulary.ports, 'port of the cluster');
  if (key === 'kubernetes.io/metadata.name') return words(vocabulary.namespaces, 'namespace of the cluster');
  const labels = labelsFor(path, vocabulary);
  if (key === 'key') return words(Object.keys(labels), 'label of the cluster');
  return words((Object.hasOwn(labels, key) && labels[key]) || [], 'value of the cluster');
}

/** Of namespaces below a selector of namespaces, else of pods. */
function labelsFor(path: readonly string[], vocabulary: Vocabulary | undefined): Vocabulary['podLabels'] {
  const selector = path.toReversed().find(key => /[sS]elector|^namespaces$/.test(key));
  const isOfNamespaces = selector === 'namespaceSelector' || selector === 'namespaces';
  return (isOfNamespaces ? vocabulary?.namespaceLabels : vocabulary?.podLabels) ?? {};
}
