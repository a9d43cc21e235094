/** The files that policy-assistant and cyclonus publish as examples, in their shapes. */
import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { answer } from './answer.ts';
import { questionsIn } from './traffic.ts';

const known = clusterView(`
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: Namespace, metadata: { name: default } }
  - apiVersion: networking.k8s.io/v1
    kind: NetworkPolicy
    metadata: { name: closed, namespace: default }
    spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: 192.168.1.13/32 } }] }] }
`);
const pod = (labels: Record<string, string>, ip?: string) => ({
  Internal: { PodLabels: labels, NamespaceLabels: {}, Namespace: 'default' },
  ...(ip && { IP: ip }),
});
const verdictOfCase = (source: object, destination: object) => {
  const [question] = questionsIn([
    { Source: source, Destination: destination, Protocol: 'TCP', ResolvedPort: 80 },
  ]);
  const { verdict, cases } = answer(known, question!);
  return [verdict, cases[0]?.flow.from, cases[0]?.flow.to];
};

test('traffic of pods without labels is judged by their namespace and addresses', () => {
  expect(verdictOfCase(pod({}, '192.168.1.10'), pod({}, '192.168.1.10'))[0]).toBe('allow'); // Itself.
  expect(verdictOfCase(pod({}, '192.168.1.12'), pod({}, '192.168.1.10'))[0]).toBe('deny');
  expect(verdictOfCase(pod({}), pod({}))[0]).toBe('deny');
});

test('two pods of the same labels are two', () => {
  const [x, y] = [pod({ app: 'x' }, '192.168.1.13'), pod({ app: 'x' }, '192.168.1.14')];
  expect(verdictOfCase(x, y)).toEqual(['allow', '192.168.1.13', '192.168.1.14']);
  expect(verdictOfCase(y, x)).toEqual(['deny', '192.168.1.14', '192.168.1.13']);
  expect(verdictOfCase(pod({ app: 'x' }), pod({ app: 'x' }))[0]).toBe('deny');
});
