/** Mends objects in the text of their file, and leaves the rest of the text as its author wrote it. */
import {
  type Document,
  isAlias,
  isNode,
  isSeq,
  type Node,
  parseAllDocuments,
  stringify,
  type YAMLSeq,
} from 'yaml';
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Fix } from '../../model/problem.ts';
import { asMap, metadataOf, typeOf } from '../kube/report/identity.ts';

/** What an object such as `NetworkPolicy shop/web` gets. */
export interface Edit {
  readonly object: string;
  readonly fix: Fix;
}

/** A part of a text, and what replaces it. */
interface Change {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/**
 * The text with all edits that can be made, and which these are. An edit is left out where its object or field is not
 * found, two documents are the object, its place is not plain, or another edit is at the same place. `namespace` is that
 * of objects that name none.
 */
export function fixText<E extends Edit>(
  text: string,
  edits: readonly E[],
  namespace = 'default',
): { readonly text: string; readonly made: readonly E[] } {
  const documents = documentsOf(text, namespace);
  const changes = edits.flatMap(edit => {
    const [document, ...others] = documents.get(edit.object) ?? [];
    const change =
      document === undefined || others.length > 0 ? undefined : changeOf(text, document, edit.fix);
    return change === undefined ? [] : [{ ...change, edit }];
  });
  const apart = withoutOverlaps(changes);
  return { text: replaced(text, apart), made: apart.map(({ edit }) => edit) };
}

/** The documents that can be read, by their objects as problems name them. */
function documentsOf(text: string, namespace: string): ReadonlyMap<string | undefined, readonly Document[]> {
  const byObject = new Map<string | undefined, Document[]>();
  for (const document of orNone(() => parseAllDocuments(text, { merge: true, prettyErrors: false })) ?? []) {
    const object = document.errors.length === 0 ? orNone(() => identityOf(document, namespace)) : undefined;
    getOrMake(byObject, object, () => []).push(document);
  }
  return byObject;
}

/** The parser throws where a text is nested too deeply, or where its aliases would take all memory. */
function orNone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function identityOf(document: Document, namespace: string): string {
  const value: unknown = document.toJS();
  const metadata = asMap(asMap(value).metadata);
  const isNamed = (metadata.namespace ?? '') !== '';
  const { name, namespace: own } = metadataOf({ metadata: isNamed ? metadata : { ...metadata, namespace } });
  return `${typeOf(value).kind} ${own}/${name}`;
}

function changeOf(text: string, document: Document, fix: Fix): Change | undefined {
  const node = document.getIn(pathOf(fix.field), true);
  if (!isNode(node) || isAlias(node) || node.range == null || ('anchor' in node && node.anchor !== undefined))
    return undefined;
  const isJson = /^\s*[[{]/.test(text);
  const [start, end] = node.range;
  if ('set' in fix) return { start, end, by: flowText(fix.set, isJson) };
  return isSeq(node) ? appended(text, node, fix.append, isJson) : undefined;
}

/** In the order of the text. Of two that overlap, or begin at the same place, one is left. */
function withoutOverlaps<C extends Change>(changes: readonly C[]): readonly C[] {
  const apart: C[] = [];
  for (const change of changes.toSorted((a, b) => b.start - a.start)) {
    const next = apart.at(-1);
    if (next === undefined || (change.end <= next.start && change.start < next.start)) apart.push(change);
  }
  return apart.reverse();
}

function replaced(text: string, changes: readonly Change[]): string {
  const parts = changes.map(({ start, by }, index) => text.slice(changes[index - 1]?.end ?? 0, start) + by);
  return parts.join('') + text.slice(changes.at(-1)?.end ?? 0);
}

/** `spec.egress[0].to` as keys and indices. */
function pathOf(field: string): (string | number)[] {
  return [...field.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, key, index]) => key ?? Number(index));
}

function flowText(value: unknown, isJson: boolean): string {
  return isJson
    ? JSON.stringify(value)
    : stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd();
}

function appended(text: string, list: YAMLSeq, value: unknown, isJson: boolean): Change | undefined {
  const last = list.items.at(-1) as Node | undefined;
  if (list.flow) {
    const end = last?.range?.[1] ?? list.range![0] + 1;
    return { start: end, end, by: `${last === undefined ? '' : ', '}${flowText(value, isJson)}` };
  }
  const first = list.items[0] as Node | undefined;
  if (!first?.range || !last?.range) return undefined;
  const before = text.slice(text.lastIndexOf('\n', first.range[0] - 1) + 1, first.range[0]);
  const indent = before.slice(0, before.lastIndexOf('-')).replace(/\S/g, ' ');
  const end = endOfLine(text, last.range[1]);
  const lines = stringify([value], { lineWidth: 0 }).trimEnd().split('\n');
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  return { start: end, end, by: lines.map(line => `${newline}${indent}${line}`).join('') };
}

/** The end of the line on which what ends at `at` ends; blank lines and comments behind it are not its own. */
function endOfLine(text: string, at: number): number {
  const end = text.slice(0, at).trimEnd().length;
  const next = text.indexOf('\n', end);
  if (next === -1) return text.length;
  return text[next - 1] === '\r' ? next - 1 : next;
}
