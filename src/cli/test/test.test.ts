import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { listManifests } from '../../inputs/folder/folder.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { readManifests } from '../sources/readstate.ts';
import { clusterViewOf } from '../sources/state.ts';
import { readTestFile } from './file.ts';
import { runTestFile, type TestResult } from './run.ts';
import { junitOf } from './test.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function runFile(file: string): Promise<TestResult> {
  const read = await readTestFile(file);
  return runTestFile(read, clusterViewOf(await readManifests({}, read.paths), {}));
}

function written(text: string): string {
  const file = join(folder, 'case.test.yaml');
  writeFileSync(file, text);
  return file;
}

const EXAMPLES = join(import.meta.dirname, '../../../examples/tests');

test('the examples hold, one file after the other', async () => {
  const files = await listManifests(EXAMPLES);
  expect(files.length).toBeGreaterThanOrEqual(4);
  for (const file of files) {
    const { cases } = await runFile(file);
    expect(cases.length).toBeGreaterThan(2);
    expect(cases.filter(({ failure }) => failure !== undefined)).toEqual([]);
  }
});

const TWO_PODS = `
manifests:
  - { apiVersion: v1, kind: Namespace, metadata: { name: x, labels: { kubernetes.io/metadata.name: x } } }
  - { apiVersion: v1, kind: Pod, metadata: { name: a, namespace: x }, spec: { containers: [{ name: c }] }, status: { podIPs: [{ ip: 10.0.0.1 }, { ip: 'fd00::1' }] } }
  - { apiVersion: v1, kind: Pod, metadata: { name: b, namespace: x }, spec: { containers: [{ name: c }] }, status: { podIPs: [{ ip: 10.0.0.2 }, { ip: 'fd00::2' }] } }
  - apiVersion: networking.k8s.io/v1
    kind: NetworkPolicy
    metadata: { name: v4, namespace: x }
    spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: 0.0.0.0/0 } }] }] }
`;

const NODE_PORT = `
manifests:
  - { apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 172.18.0.1 }] } }
  - { apiVersion: v1, kind: Node, metadata: { name: n2 }, status: { addresses: [{ type: InternalIP, address: 172.18.0.2 }] } }
  - { apiVersion: v1, kind: Pod, metadata: { name: a, namespace: x }, spec: { nodeName: n1, containers: [{ name: c }] }, status: { podIP: 10.0.0.1 } }
  - { apiVersion: v1, kind: Pod, metadata: { name: b, namespace: x, labels: { app: b } }, spec: { nodeName: n2, containers: [{ name: c }] }, status: { podIP: 10.0.0.2 } }
  - { apiVersion: v1, kind: Service, metadata: { name: b, namespace: x }, spec: { type: NodePort, selector: { app: b }, ports: [{ port: 80, nodePort: 30080 }] } }
  - apiVersion: networking.k8s.io/v1
    kind: NetworkPolicy
    metadata: { name: nodes, namespace: x }
    spec: { podSelector: { matchLabels: { app: b } }, ingress: [{ from: [{ ipBlock: { cidr: 172.18.0.0/24 } }] }] }
`;

test.each([
  ['masquerade: yes', 'allow by ingress NetworkPolicy x/nodes ingress[0]', undefined],
  ['masquerade: no', 'deny by ingress NetworkPolicy x/nodes', undefined],
  ['', 'allow', '--masquerade=yes or no'],
])('a file may say whether the network masquerades: %s', async (line, expected, failure) => {
  const { cases } = await runFile(
    written(`${NODE_PORT}${line}\nflows: ['x/a -> node/n2:30080 ${expected}']`),
  );
  expect(cases[0]!.failure).toEqual(failure === undefined ? undefined : expect.stringContaining(failure));
});

describe('an expectation fails', () => {
  test.each([
    ['x/a -> x/b:80 allow', 'expected allow, got deny from fd00::1 to fd00::2'],
    ['x/a -> x/b:80 deny', 'expected deny, got allow from 10.0.0.1 to 10.0.0.2'],
    ['x/a@6 -> x/b@6:80 allow', 'expected allow, got deny'],
    ['x/a@6 -> x/b@6:80 deny by ingress NetworkPolicy x/v5', 'got by ingress NetworkPolicy x/v4'],
    ['x/a -> x/c:80 deny', 'there is no pod x/c'],
  ])('%s: %s', async (line, failure) => {
    const { cases } = await runFile(written(`${TWO_PODS}flows: ['${line}']`));
    expect(cases[0]!.failure).toContain(failure);
  });

  test('and holds where it is over the family that is asked', async () => {
    const { cases } = await runFile(
      written(
        `${TWO_PODS}flows: [x/a@4 -> x/b@4:80 allow, x/a@6 -> x/b@6:80 deny, x/a -> pod/x/b@6:80 deny]`,
      ),
    );
    expect(cases.map(({ failure }) => failure)).toEqual([undefined, undefined, undefined]);
  });

  test('where one family is denied by something else than it says', async () => {
    const platform = `
  - apiVersion: policy.networking.k8s.io/v1alpha2
    kind: ClusterNetworkPolicy
    metadata: { name: p }
    spec: { tier: Admin, priority: 1, subject: { namespaces: {} }, egress: [{ action: Deny, to: [{ networks: [10.0.0.0/8] }] }] }
`;
    const flow = 'x/a -> x/b:80 deny by egress ClusterNetworkPolicy p egress[0]';
    const { cases } = await runFile(written(`${TWO_PODS.trimEnd()}${platform}flows: ['${flow}']`));
    expect(cases[0]!.failure).toContain('got by nothing there');
  });
});

test.each(['x/deploy/web', 'web', 'x/app=web', 'x/web'])(
  'whoever it is from, an address is who answers: %s',
  async from => {
    const objects = [
      '{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: x, labels: { app: web } }, status: { podIP: 10.0.0.1 } }',
      '{ apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: x }, spec: { template: { metadata: { labels: { app: web } } } } }',
      '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: dns, namespace: x }, spec: { podSelector: {}, policyTypes: [Egress], egress: [{ to: [{ ipBlock: { cidr: 10.96.0.10/32 } }] }] } }',
    ];
    const flows = [`'${from} -> 10.96.0.10:53/UDP allow'`, `'${from} -> 10.96.0.11:53/UDP deny'`];
    const read = await readTestFile(written(`flows: [${flows}]\nmanifests: [${objects}]`));
    const view = clusterViewOf(await readManifests({ namespace: 'x' }, []), {});
    const failures = runTestFile(read, view).cases.map(({ failure }) => failure);
    expect(failures).toEqual([undefined, undefined]);
  },
);

test('a flow between addresses is undecided where nobody said what becomes of an unknown pod', async () => {
  const node = 'apiVersion: v1, kind: Node, metadata: { name: n1 }, spec: { podCIDRs: [10.0.0.0/24] }';
  const file = written(
    `${TWO_PODS}  - { ${node} }\nflows: ['10.0.0.9 -> 10.0.0.1:80 allow', '10.0.0.2 -> 10.0.0.1:80 allow']\n`,
  );
  const [read, state] = [await readTestFile(file), await readManifests({}, [])];
  const guesses = { unknownPods: true, podTunnels: true, why: 'nobody said how' };
  const view = clusterViewOf({ ...state, guesses }, {});
  const { cases } = runTestFile(read, view);
  expect(cases.map(({ isError = false }) => isError)).toEqual([true, false]);
  expect(cases[0]!.failure).toContain('agents deny or allow its packets');
  for (const unknownPods of ['allow', 'deny'] as const) {
    const said = runTestFile({ ...read, unknownPods }, view).cases[0]!;
    expect([said.isError, said.failure === undefined]).toEqual([undefined, unknownPods === 'allow']);
  }
});

test('a flow between addresses is undecided where explain says so, as into a tunnel that only an agent sees', async () => {
  const node = `apiVersion: v1, kind: Node, metadata: { name: n1, annotations: { flannel.alpha.coreos.com/backend-type: vxlan, flannel.alpha.coreos.com/public-ip: 192.0.2.1 } }, spec: { podCIDRs: [10.1.0.0/24] }`;
  const flows = ['203.0.113.1:8472/UDP', '203.0.113.1:8473/UDP', '10.1.0.7:8472/UDP', '10.0.0.2:8472/UDP'];
  const objects = `${TWO_PODS.replaceAll('spec: { containers', 'spec: { nodeName: n1, containers')}  - { ${node} }\n`;
  const file = `${objects}matrix: { port: 8472, protocol: UDP }\nflows: [${flows.map(to => `'x/a -> ${to} allow'`)}]\n`;
  const { cases } = await runFile(
    written(file.replace('ingress: [', 'policyTypes: [Egress], egress: [').replace('from:', 'to:')),
  );
  const why = expect.stringContaining('if node n1 has a tunnel of its own on UDP 8472, it denies');
  expect(cases.map(({ flow, failure }) => [flow.split(' -> ')[1], failure])).toEqual([
    ['203.0.113.1:8472/UDP', why],
    ['203.0.113.1:8473/UDP', undefined],
    ['10.1.0.7:8472/UDP', undefined],
    ['10.0.0.2:8472/UDP', why],
    ...['x/b@4', 'x/b@6', 'x/a@4', 'x/a@6'].map(to => [
      `${to}:8472/UDP`,
      to.endsWith('4') ? why : expect.anything(),
    ]),
  ]);
});

test('where policies of other namespaces could not be read, a flow has a verdict within the others alone', async () => {
  const flows = ['x/a -> 10.0.0.2:80', 'x/a -> x/b:80', 'x/a -> 203.0.113.7:80', 'x/a -> 10.0.0.9:80'];
  const file = written(`${TWO_PODS}matrix: { port: 80 }\nflows: [${flows.map(each => `'${each} allow'`)}]\n`);
  const [read, { scope: _, ...state }] = [await readTestFile(file), await readManifests({}, [])];
  const sureOf = (namespace: string) =>
    clusterViewOf({ ...state, policiesOnlyOf: [namespace], scope: { defaultNamespace: 'x' } }, {});
  const undecided = (namespace: string) =>
    runTestFile(read, sureOf(namespace)).cases.filter(({ isError }) => isError);
  expect(undecided('x').map(({ flow }) => flow)).toEqual(['x/a -> 10.0.0.9:80']);
  expect(undecided('y').length).toBe(runTestFile(read, sureOf('y')).cases.length);
});

describe('a file that would prove less than it says is refused', () => {
  test.each([
    ['title: x', 'expects nothing'],
    ['flow: []', 'the file takes no field flow; did you mean flows?'],
    ['flows: [x/a -> x/b]', 'cannot parse "x/a -> x/b"'],
    ['flows: [{ flow: x/a -> x/b, verdikt: allow }]', 'a flow takes no field verdikt; did you mean verdict?'],
    ['steps: [{ apply: [] }]', 'a step expects nothing'],
    ['steps: [{ delete: [Pot x/a], flows: [x/a -> x/b deny] }]', 'cannot delete "Pot x/a"'],
    ['{ apiVersion: v1, kind: Pod, metadata: {} }', 'holds Kubernetes objects, and is no test'],
    ['- 1', 'is not a map'],
    ['{', 'case.test.yaml: '],
    [
      'flows: [x/a -> x/b deny]\nmanifests: [{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: n, namespace: x }, spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: nonsense } }] }] } }]',
      '"nonsense" is not a network',
    ],
  ])('%s', async (text, message) => {
    const failing = runFile(written(text));
    await expect(failing).rejects.toThrow(CommandError);
    await expect(runFile(written(text))).rejects.toThrow(message);
  });
});

test('junitOf() counts, and escapes what somebody wrote', () => {
  const cases = [
    { flow: 'a -> b:80', expected: 'allow' as const },
    { step: '<1>', flow: 'a -> c', expected: 'deny' as const, failure: 'got "allow" & more\u0007' },
    { flow: 'a -> d', expected: 'deny' as const, failure: 'there is no pod', isError: true as const },
  ];
  expect(junitOf([{ file: 't.yaml', title: 'T', cases, notes: [] }])).toEqual([
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites name="sluice test" tests="3" failures="1" errors="1">',
    '  <testsuite name="T" file="t.yaml" tests="3" failures="1" errors="1">',
    '    <testcase name="a -&#62; b:80 allow" classname="t.yaml"/>',
    '    <testcase name="&#60;1&#62;: a -&#62; c deny" classname="t.yaml">',
    '      <failure message="got &#34;allow&#34; &#38; more\ufffd"/>',
    '    </testcase>',
    '    <testcase name="a -&#62; d deny" classname="t.yaml">',
    '      <error message="there is no pod"/>',
    '    </testcase>',
    '  </testsuite>',
    '</testsuites>',
  ]);
});
