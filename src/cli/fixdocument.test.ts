import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import { ask } from '../answers/questions/ask.ts';
import { fixOf } from '../answers/questions/explanation.ts';
import { fixDocument } from './explaintext.ts';

const pod = (name: string, address: string) =>
  `- { apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, status: { podIP: ${address} } }`;
const view = clusterView(`
apiVersion: v1
kind: List
items:
${pod('web', '10.1.0.1')}
${pod('db', '10.1.0.2')}
- { apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: db, namespace: shop }, spec: { podSelector: { matchLabels: { app: db } } } }
`);

function documentOf(from: string, to: string) {
  const [asked] = ask(view, [{ from, to }]);
  if (asked === undefined || !('answer' in asked)) throw new Error(JSON.stringify(asked));
  const fix = fixOf(asked.answer, view, 'allow');
  return { fix, lines: fixDocument(fix) };
}

test('--fix -o yaml is what kubectl apply takes: the proposed objects, and comments', () => {
  const { fix, lines } = documentOf('web', 'db:5432');
  if (typeof fix === 'string') throw new Error(fix);
  const documents = parseAllDocuments(lines.join('\n'));
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  const objects = documents.map(document => document.toJS()).filter(object => object !== null);
  expect(objects).toEqual(JSON.parse(JSON.stringify(fix.objects)));
  expect(objects.map(({ kind }) => kind)).toEqual(['NetworkPolicy']);
  const before = lines.slice(0, lines.indexOf('---'));
  expect(before.filter(line => !line.startsWith('# '))).toEqual([]);
  expect(before[0]).toBe('# to allow it (judged again: it does)');
});

test('where there is no fix, kubectl apply is given a comment alone', () => {
  const { lines } = documentOf('db', 'web:80');
  expect(lines).toEqual([expect.stringMatching(/^# no fix: /)]);
});
