/** The editor completes fields that the decoders read, and no others. */
import { CompletionContext } from '@codemirror/autocomplete';
import { EditorState } from '@codemirror/state';
import { expect, test } from 'vitest';
import { decodeObject } from '../../src/inputs/kube/decode/decode.ts';
import type { Vocabulary } from '../core/protocol.ts';
import { completions } from './completions.ts';
import { FIELDS } from './fields.ts';

const VOCABULARY: Vocabulary = {
  namespaces: ['shop', 'guest'],
  podLabels: { app: ['web', 'db'] },
  namespaceLabels: { team: ['a'] },
  ports: ['80', 'http'],
};

/** What is offered at `|`. */
function offered(text: string): readonly string[] {
  const at = text.indexOf('|');
  const state = EditorState.create({ doc: text.replace('|', '') });
  return (
    completions(new CompletionContext(state, at, true), VOCABULARY)?.options.map(({ label }) => label) ?? []
  );
}

const HEAD = 'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n';

test.each([
  [`${HEAD}|`, ['apiVersion', 'kind', 'metadata', 'spec']],
  [`${HEAD}metadata:\n  namespace: |`, ['shop', 'guest']],
  [`${HEAD}spec:\n  po|`, ['podSelector', 'policyTypes', 'ingress', 'egress']],
  [`${HEAD}spec:\n  ingress:\n  - |`, ['from', 'ports']],
  [
    `${HEAD}spec:\n  ingress:\n    - from:\n        - podSelector:\n            matchLabels:\n              |`,
    ['app'],
  ],
  [`${HEAD}spec:\n  podSelector:\n    matchLabels:\n      app: |`, ['web', 'db']],
  [
    `${HEAD}spec:\n  ingress:\n  - from:\n    - namespaceSelector:\n        matchLabels:\n          |`,
    ['team'],
  ],
  [`${HEAD}spec:\n  egress:\n  - ports:\n    - port: |`, ['80', 'http']],
  ['kind: ClusterNetworkPolicy\nspec:\n  tier: |', ['Admin', 'Baseline']],
  [
    `kind: Pod\n---\n${HEAD}spec:\n  egress:\n  - to:\n    - ip|`,
    ['podSelector', 'namespaceSelector', 'ipBlock'],
  ],
  [`${HEAD}# a comment |`, []],
  [`${HEAD}spec:\n  podSelector:\n    matchLabels:\n      constructor: |`, []],
])('%j is completed by %j', (text, labels) => {
  expect(offered(text)).toEqual(labels);
});

const VERSIONS: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networking.k8s.io/v1',
  ClusterNetworkPolicy: 'policy.networking.k8s.io/v1alpha2',
  AdminNetworkPolicy: 'policy.networking.k8s.io/v1alpha1',
  BaselineAdminNetworkPolicy: 'policy.networking.k8s.io/v1alpha1',
};

/** The problems of a policy in which a field is at this place. */
function problemsOf(kind: string, parent: string, field: string): string {
  const rule = { action: 'Deny', ...(parent === 'ingress' || parent === 'egress' ? { [field]: {} } : {}) };
  const spec = {
    ...(parent === 'spec' && { [field]: {} }),
    ...(parent === 'ingress' && { ingress: [rule] }),
    ...(parent === 'egress' && { egress: [rule] }),
  };
  const { problems } = decodeObject({
    apiVersion: VERSIONS[kind],
    kind,
    metadata: { name: 'default', namespace: 'b' },
    spec,
  });
  return problems.map(({ field: at, message }) => `${at} ${message}`).join('\n');
}

const PLACES = Object.keys(FIELDS).flatMap(kind =>
  ['spec', 'ingress', 'egress'].map(parent => [kind, parent] as const),
);

test.each(PLACES)(
  'the decoder of %s knows each field that is offered in %s, and refuses another',
  (kind, parent) => {
    for (const field of FIELDS[kind]![parent]!)
      expect(problemsOf(kind, parent, field)).not.toMatch(new RegExp(`${field} is not a known field`));
    expect(problemsOf(kind, parent, 'nosuch')).toContain('nosuch is not a known field');
  },
);
