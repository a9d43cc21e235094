/** Nothing that a tenant writes into a cluster reaches the terminal as a control sequence. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toTerminal } from '../terminal/colours.ts';
import { statusLines } from './status.ts';

/** Clears the screen, moves up, sets a title, ends the line, writes backwards. */
const BAD = 'x\x1b[2J\x1b[1A\x1b]0;owned\x07\r\n\x9b31m\u202e\u200b';
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
const UNPRINTABLE = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]/;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-hostile-'));
  const pod = (name: string, address: string, labels: object) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels },
    spec: { nodeName: 'n', containers: [{ name: 'c', ports: [{ name: BAD, containerPort: 80 }] }] },
    status: { phase: 'Running', podIPs: [{ ip: address }] },
  });
  const clusterPolicy = (name: string, more: object) => ({
    apiVersion: 'policy.networking.k8s.io/v1alpha2',
    kind: 'ClusterNetworkPolicy',
    metadata: { name },
    spec: {
      tier: 'Admin',
      priority: 1,
      subject: { namespaces: {} },
      ingress: [{ name: BAD, action: 'Deny', from: [{ namespaces: {} }], ...more }],
    },
  });
  const policy = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: BAD, namespace: 'shop' },
    spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: BAD } }], ports: [{ port: BAD }] }] },
  };
  const objects = [
    pod('web', '10.0.0.1', { app: BAD }),
    pod('db', '10.0.0.2', {}),
    pod(`db${BAD}`, '10.0.0.3', {}),
    clusterPolicy('plain', {}),
    clusterPolicy(`c${BAD}`, {}),
    clusterPolicy('odd', { [BAD]: BAD }),
    policy,
    { apiVersion: BAD, kind: BAD },
  ];
  for (const [at, object] of objects.entries())
    writeFileSync(join(folder, `${at}.json`), JSON.stringify(object));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function sluice(...words: string[]) {
  const env = { ...process.env, FORCE_COLOR: '0', NO_COLOR: '1' };
  return spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), ...words], {
    encoding: 'utf8',
    env,
    input: `shop/web 10.0.0.2:80\nshop/web ${BAD} 80\n`,
  });
}

test.each(
  [
    ['explain', '10.0.0.2', 'shop/web:80', '--manifests'],
    ['explain', '10.0.0.2', 'shop/web:80', '-o', 'json', '--manifests'],
    ['explain', '--flows', '-', '--manifests'],
    ['explain', '--flows', '-', '-o', 'json', '--manifests'],
    ['explain', `shop/${BAD}`, 'shop/web:80', '--manifests'],
    ['check'],
    ['check', '-o', 'json'],
  ].map(words => [words[0], words] as const),
)('%s, case %#, writes no control character that somebody put into a name', (_, words) => {
  const { stdout, stderr } = sluice(...words, folder);
  expect(stdout + stderr).toMatch(/\\x1b\[2J|\\u001b\[2J|\\u009b/);
  expect(stdout).not.toMatch(UNPRINTABLE);
  expect(stderr).not.toMatch(UNPRINTABLE);
});

test.each([[BAD], [`--${BAD}`], ['check', `--${BAD}`], ['matrix', '-o', BAD], ['completion', BAD]])(
  'case %# of words that no command has is shown in a line, as it is',
  (...words) => {
    const { stdout, stderr } = sluice(...words);
    expect(stdout).toBe('');
    expect(stderr).not.toMatch(UNPRINTABLE);
    expect(stderr.split('\n').filter(line => line.includes('\\x1b[2J') && line.includes('31m'))).toHaveLength(
      1,
    );
  },
);

test('a name cannot end a line and begin one of its own', () => {
  const { stdout } = sluice('explain', '10.0.0.2', 'shop/web:80', '--manifests', folder);
  expect(stdout.split('\n').filter(line => /^\W*31m/.test(line))).toEqual([]);
  expect(stdout).toContain('\\x0d\\x0a');
});

test('sluice status shows what an agent has read as it is', () => {
  const lines = statusLines(
    {
      node: BAD,
      ready: true,
      objects: { policies: 1, pods: 1, namespaces: 1, nodes: 1 },
      totals: { commits: 1, failures: 0, drifts: 0 },
      pending_events: 0,
      waiting_pods: 0,
      waiting_policies: 1,
      waiting_policies_ms: 1,
      waiting_policy_names: [`NetworkPolicy shop/${BAD}`],
      policies: [{ policy: `NetworkPolicy shop/${BAD}`, status: BAD, reason: BAD }],
      policies_in_all: 2,
      lag_ms: 0,
      started_at_ms: 0,
      checks: [{ name: 'manifests', state: 'fail', reason: BAD, remedy: BAD }],
      commits: [{ at_ms: 0, operations: 1, took_ms: 1, names: [BAD] }],
      problems: [{ severity: 'error', text: BAD }],
    } as never,
    1000,
  );
  expect(lines.filter(line => UNPRINTABLE.test(toTerminal(line)) || toTerminal(line).includes('\n'))).toEqual(
    [],
  );
});
