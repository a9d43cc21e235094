/** `sluice explain` says beside a policy what has become of it on the node, as `sluice status` does. */
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import { wrongWith } from '../../test/support/questions/schema.ts';
import { answer } from '../answers/questions/answer.ts';
import { answerObject } from '../answers/questions/explanation.ts';
import { type PolicyStatus, statusText } from '../model/policystatus.ts';
import { wrapped } from '../terminal/hang.ts';
import { answerLines } from './explaintext.ts';

const pod = (name: string, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop }, spec: { containers: [{ name: c }] }, status: { podIP: ${ip} } }`;
const DENY =
  '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: db, namespace: shop }, spec: { podSelector: {}, policyTypes: [Ingress] } }';
const ID = 'NetworkPolicy shop/db';
const EDIT = { id: ID, kind: 'pending', change: 'edit', sinceMs: 0 } as const;
const REFUSED = {
  id: ID,
  kind: 'quarantined',
  reason: 'refused',
  detail: 'EINVAL',
  keepsLastVersion: true,
} as const;

function viewWith(...statuses: readonly PolicyStatus[]) {
  const yaml = [pod('web', '10.0.0.1'), pod('db', '10.0.0.2'), DENY].join('\n---\n');
  return clusterView(yaml, { statuses: statuses.map(statusText) });
}

const asked = (...statuses: readonly PolicyStatus[]) =>
  answer(viewWith(...statuses), { from: 'shop/web', to: 'shop/db:5432' });

const linesOf = (...statuses: readonly PolicyStatus[]) =>
  answerLines(asked(...statuses), 'allow').map(line => wrapped(stripVTControlCharacters(line), undefined));

test('explain says below a policy that an edit of it waits, and that its last good version is in force', () => {
  const lines = linesOf(REFUSED, EDIT);
  const at = lines.findIndex(line => line.includes(ID) && line.includes('decided'));
  expect(lines.slice(at + 1, at + 3).map(line => line.trim())).toEqual([
    'quarantined  the kernel refuses its rules (EINVAL): its last good version stays in force until it changes',
    'pending      an edit of it waits for its turn, and its last good version is in force',
  ]);
  expect(linesOf().filter(line => /pending|quarantined/.test(line))).toEqual([]);
});

test('explain -o json has them at the policy, as the schema has it', () => {
  const object = JSON.parse(JSON.stringify(answerObject({ answer: asked(REFUSED, EDIT) }, viewWith(), [])));
  expect(object.ingress.stops[0]).toMatchObject({
    policy: ID,
    statuses: [statusText(REFUSED), statusText(EDIT)],
  });
  expect(wrongWith(object)).toEqual([]);
});

test('explain notes policies of which nothing is in force yet, where they may be about the question', () => {
  const coming = (id: PolicyStatus['id']) => ({ ...EDIT, id, change: 'new' }) as const;
  const ids = ['NetworkPolicy shop/new', 'NetworkPolicy far/new', 'ClusterNetworkPolicy new'] as const;
  expect(asked(...ids.map(coming)).notes).toEqual([
    'NetworkPolicy shop/new: it waits for its turn, and nothing of it is in force yet',
    'ClusterNetworkPolicy new: it waits for its turn, and nothing of it is in force yet',
  ]);
  const many = Array.from({ length: 9 }, (_, n) => coming(`NetworkPolicy shop/n${n}`));
  expect(asked(...many).notes.at(-1)).toBe('and 4 more policies of which nothing is in force yet');
});

test('explain does not repeat a status that the reason of the version in force has', () => {
  expect(linesOf({ id: ID, kind: 'over-budget', reason: 'too large' }).join()).not.toContain('too large');
});

test('explain shows five of many policies that had no part in the verdict, counts the others, and hides none with a status', () => {
  const others = Array.from({ length: 3_000 }, (_, at) =>
    DENY.replace('name: db', `name: other-${String(at).padStart(4, '0')}`),
  );
  const yaml = [pod('web', '10.0.0.1'), pod('db', '10.0.0.2'), DENY, ...others].join('\n---\n');
  const id = 'NetworkPolicy shop/other-2500' as const;
  const view = clusterView(yaml, { statuses: [statusText({ ...EDIT, id })] });
  const found = answer(view, { from: 'shop/web', to: 'shop/db:5432' });
  const lines = (isWide: boolean) =>
    answerLines(found, 'allow', isWide).map(line => wrapped(stripVTControlCharacters(line), undefined));
  const short = lines(false);
  expect(short.length).toBeLessThan(20);
  expect(short).toContain('  same verdict  2,994 other policies (-o wide lists them)');
  expect(short.some(line => line.includes(id))).toBe(true);
  expect(lines(true).filter(line => line.includes('same verdict'))).toHaveLength(3_000);
});
