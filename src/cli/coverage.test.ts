import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MANIFESTS = `
{ apiVersion: v1, kind: Namespace, metadata: { name: shop } }
---
{ apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: shop }, spec: { template: { metadata: { labels: { app: web } }, spec: { containers: [] } } } }
---
{ apiVersion: apps/v1, kind: Deployment, metadata: { name: db, namespace: shop }, spec: { template: { metadata: { labels: { app: db } }, spec: { containers: [] } } } }
---
{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: db, namespace: shop }, spec: { podSelector: { matchLabels: { app: db } }, policyTypes: [Ingress, Egress] } }
---
{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: web, namespace: shop }, spec: { podSelector: { matchLabels: { app: web } }, ingress: [{}] } }
---
{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: old, namespace: shop }, spec: { podSelector: { matchLabels: { app: old } } } }
`;

function coverage(...words: string[]) {
  return coverageOf(MANIFESTS, ...words);
}

function coverageOf(input: string, ...words: string[]) {
  const main = join(import.meta.dirname, 'main.ts');
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [main, 'coverage', '--manifests', '-', ...words],
    { encoding: 'utf8', input },
  );
  return { stdout, status, ...(stderr !== '' && { stderr }) };
}

test('coverage says who is isolated, who is not and why, and what is unused', () => {
  expect(coverage()).toEqual({
    status: 0,
    stdout: `shop  2 workloads  ingress 1 (50 %)  egress 1 (50 %)
all   2 workloads  ingress 1 (50 %)  egress 1 (50 %)

Not isolated
  ingress  shop/web (NetworkPolicy shop/web allows everything)
  egress   shop/web

Unused
  NetworkPolicy shop/old: selects none of the pods and workloads that are there
`,
  });
});

test.each([
  [['--min', '50'], 0],
  [['--min', '51%'], 1],
  [['--min', '51', '--direction', 'egress'], 1],
  [['--min', 'most'], 2],
  [['-n', 'sohp'], 2],
  [['-l', 'app=db', '--min', '100'], 0],
  [['-l', 'app=none'], 2],
])('the exit code of coverage %j is %i', (words, code) => {
  expect(coverage(...words).status).toBe(code);
});

test('coverage is written for CI as JUnit and as SARIF, with the place of each finding', () => {
  const junit = coverage('-o', 'junit', '--direction', 'ingress').stdout;
  expect(junit).toContain('<testsuite name="shop" tests="2" failures="1" errors="0">');
  expect(junit).toContain(
    '<failure message="is not isolated for ingress: NetworkPolicy shop/web allows everything"/>',
  );
  const { runs } = JSON.parse(coverage('-o', 'sarif', '--direction', 'ingress').stdout);
  expect(runs[0].tool.driver.rules).toEqual([{ id: 'not-isolated' }, { id: 'unused-policy' }]);
  expect(runs[0].results.map(({ locations }: { locations: unknown }) => locations)).toEqual(
    [4, 12].map(startLine => [
      { physicalLocation: { artifactLocation: { uri: 'standard%20input' }, region: { startLine } } },
    ]),
  );
});

test('coverage says at its end where a policy could not be read, and ends with 2', () => {
  const broken = `${MANIFESTS}---\n{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: x, namespace: shop }, spec: [] }\n`;
  const { status, stderr } = coverageOf(broken);
  expect([status, stderr]).toEqual([2, expect.stringMatching(/\nthis is not all: policies may be in /)]);
});
