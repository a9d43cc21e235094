import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';

const shop = join(import.meta.dirname, '../../examples/shop');

/** The answers to a list of flows, and the exit code. */
function explainAll(flows: string, ...options: string[]): [string[], number | null] {
  const words = [join(import.meta.dirname, 'main.ts'), 'explain', '--flows', '-', '--manifests', shop];
  const { stdout, status } = spawnSync(process.execPath, [...words, ...options], {
    input: flows,
    encoding: 'utf8',
  });
  return [stdout.trimEnd().split('\n'), status];
}

const FLOWS = 'guest/visitor shop/db:5432\nwhat is this line\nguest/visitor shop/none:1 # no such pod\n';

test('explain --flows answers the lines that it can, in their order, and says what is wrong with the others', () => {
  const [lines, status] = explainAll(FLOWS);
  expect(lines.map(line => line.split(/\s+/, 1)[0])).toEqual(['deny', 'error', 'error']);
  expect(lines[1]).toBe('error  "what is this line"  cannot parse: expected FROM TO[:PORT[/PROTOCOL]]');
  expect(lines[2]).toContain('shop/none');
  expect(status).toBe(2);
});

test('explain --flows -o json has the addresses that it judged, or the error of a line', () => {
  const [lines] = explainAll(FLOWS, '-o', 'json');
  const [answer, noQuestion, noPod] = lines.map(line => JSON.parse(line) as unknown);
  expect(answer).toMatchObject({
    from: 'guest/visitor',
    to: 'shop/db',
    verdict: 'deny',
    addresses: { from: '10.244.1.66', to: '10.244.1.30' },
  });
  expect(noQuestion).toMatchObject({
    line: 'what is this line',
    error: expect.stringContaining('cannot parse'),
  });
  expect(noPod).toMatchObject({ to: 'shop/none:1', error: expect.stringContaining('shop/none') });
});

test.each(['json', 'wide'])('explain -o %s has no address of a name that nobody asked DNS for', output => {
  const words = [join(import.meta.dirname, 'main.ts'), 'explain', 'shop/web', 'logs.example.org:443'];
  const options = ['--manifests', shop, '-o', output];
  const { stdout } = spawnSync(process.execPath, [...words, ...options], { encoding: 'utf8' });
  expect(stdout).toContain('logs.example.org is not a pod');
  if (output === 'json') expect(JSON.parse(stdout).addresses).toEqual({ from: expect.any(String) });
  expect(stdout).not.toMatch(/\b1\.0\.0\.\d+\b(?!-)/);
});

test('explain gives no verdict about an address that may be a Service, and says so', () => {
  const flow = ['guest/visitor', '10.96.0.10:53/UDP'];
  const [[line], status] = explainAll(flow.join(' '));
  expect([line, status]).toEqual([expect.stringMatching(/^undecided .* may be the address of a Service/), 2]);
  const [[json]] = explainAll(flow.join(' '), '-o', 'json');
  expect(JSON.parse(json!)).toMatchObject({
    verdict: 'undecided',
    families: { ipv4: 'undecided' },
    cases: [{ verdict: 'undecided' }],
    reason: expect.stringContaining('Service'),
  });
});

test.each([
  ['guest/visitor shop/db:5432', 1],
  ['shop/web shop/api:8080', 0],
  ['guest/visitor shop/none:1', 2],
])('explain %s ends with exit code %i', (flow, code) => {
  const words = [join(import.meta.dirname, 'main.ts'), 'explain', ...flow.split(' '), '--manifests', shop];
  expect(spawnSync(process.execPath, words, { encoding: 'utf8' }).status).toBe(code);
});

test("explain --flows takes policy-assistant's traffic and probes, and what they say of the cluster", () => {
  const traffic = [
    {
      Source: { Internal: { PodLabels: { app: 'web' }, Namespace: 'shop' }, IP: '10.244.1.200' },
      Destination: { Internal: { Workload: 'shop/pod/api' } },
      Protocol: 'TCP',
      ResolvedPort: 8080,
    },
    {
      Source: { IP: '8.8.8.8' },
      Destination: { Internal: { Workload: 'shop/pod/db' } },
      Protocol: 'TCP',
      ResolvedPort: 5432,
    },
  ];
  const [lines, status] = explainAll(JSON.stringify(traffic), '-o', 'json');
  expect(lines.map(line => JSON.parse(line).verdict)).toEqual(['allow', 'deny']);
  expect(status).toBe(1);
});

test('explain --fix -o yaml has objects that kubectl applies, and all else as comments', () => {
  const ask = (...words: string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), 'explain', ...words], {
      encoding: 'utf8',
    });
  const { stdout, status } = ask('guest/visitor', 'shop/db:5432', '--manifests', shop, '--fix', '-o', 'yaml');
  expect([status, stdout.split('\n', 1)[0]]).toEqual([1, '# to allow it (judged again: it does)']);
  const objects = parseAllDocuments(stdout).map(document => document.toJS());
  expect(objects.length).toBeGreaterThan(0);
  for (const object of objects)
    expect(object).toMatchObject({ kind: expect.stringMatching(/NetworkPolicy$/) });
  const none = ask('shop/db', 'shop/db:5432', '--manifests', shop, '--fix', '-o', 'yaml');
  expect(none.stdout).toMatch(/^(#.*\n)+$/);
});
