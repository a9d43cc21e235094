/** Mends an object in the text of its file, and leaves the rest of the text as its author wrote it. */
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
import type { Fix } from '../../model/problem.ts';
import { asMap, metadataOf, typeOf } from '../kube/report/identity.ts';

/**
 * The text with the fix; undefined where the object or the field is not found, two documents are the object, or its place
 * is not plain. `namespace` is that of objects that name none.
 */
export function fixText(text: string, object: string, fix: Fix, namespace = 'default'): string | undefined {
  const documents = parseAllDocuments(text, { merge: true });
  if (!Array.isArray(documents)) return undefined;
  const found = documents.filter(each => each.errors.length === 0 && identityOf(each, namespace) === object);
  const node = found.length === 1 ? found[0]!.getIn(pathOf(fix.field), true) : undefined;
  if (!isNode(node) || isAlias(node) || node.range == null || ('anchor' in node && node.anchor !== undefined))
    return undefined;
  const isJson = /^\s*[[{]/.test(text);
  if ('set' in fix) return spliced(text, node.range[0], node.range[1], flowText(fix.set, isJson));
  return isSeq(node) ? appended(text, node, fix.append, isJson) : undefined;
}

/** As a problem names the object. */
function identityOf(document: Document, namespace: string): string {
  const value: unknown = document.toJS();
  const metadata = asMap(asMap(value).metadata);
  const isNamed = (metadata.namespace ?? '') !== '';
  const { name, namespace: own } = metadataOf({ metadata: isNamed ? metadata : { ...metadata, namespace } });
  return `${typeOf(value).kind} ${own}/${name}`;
}

/** `spec.egress[0].to` as keys and indices. */
function pathOf(field: string): (string | number)[] {
  return [...field.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, key, index]) => key ?? Number(index));
}

function spliced(text: string, start: number, end: number, by: string): string {
  return text.slice(0, start) + by + text.slice(end);
}

function flowText(value: unknown, isJson: boolean): string {
  return isJson
    ? JSON.stringify(value)
    : stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd();
}

function appended(text: string, list: YAMLSeq, value: unknown, isJson: boolean): string | undefined {
  const last = list.items.at(-1) as Node | undefined;
  if (list.flow) {
    const end = last?.range?.[1] ?? list.range![0] + 1;
    return spliced(text, end, end, `${last === undefined ? '' : ', '}${flowText(value, isJson)}`);
  }
  const first = list.items[0] as Node | undefined;
  if (!first?.range || !last?.range) return undefined;
  const before = text.slice(text.lastIndexOf('\n', first.range[0] - 1) + 1, first.range[0]);
  const indent = before.slice(0, before.lastIndexOf('-')).replace(/\S/g, ' ');
  const end = endOfLine(text, last.range[1]);
  const lines = stringify([value], { lineWidth: 0 }).trimEnd().split('\n');
  return spliced(text, end, end, `\n${lines.map(line => indent + line).join('\n')}`);
}

/** The end of the line on which what ends at `at` ends; blank lines and comments behind it are not its own. */
function endOfLine(text: string, at: number): number {
  const end = text.slice(0, at).trimEnd().length;
  const next = text.indexOf('\n', end);
  return next === -1 ? text.length : next;
}
