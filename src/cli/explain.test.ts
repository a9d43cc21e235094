import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

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
  expect(status).toBe(1);
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
  expect(noQuestion).toEqual({ line: 'what is this line', error: expect.stringContaining('cannot parse') });
  expect(noPod).toMatchObject({ to: 'shop/none:1', error: expect.stringContaining('shop/none') });
});

test('explain says that NAT is not followed, where an address may stand for a pod', () => {
  const NOTE =
    'NAT is not followed: where a Service or a host port leads from 10.96.0.10 port 53 to a pod, ask';
  const flow = ['guest/visitor', '10.96.0.10:53/UDP'];
  const [[line]] = explainAll(flow.join(' '));
  expect(line).toMatch(new RegExp(`^allow .*; ${NOTE}`));
  const [[json]] = explainAll(flow.join(' '), '-o', 'json');
  expect(JSON.parse(json!)).toMatchObject({ verdict: 'allow', note: expect.stringContaining(NOTE) });
  const words = [join(import.meta.dirname, 'main.ts'), 'explain', ...flow, '--manifests', shop];
  expect(spawnSync(process.execPath, words, { encoding: 'utf8' }).stdout).toContain(`\n\n${NOTE}`);
  const [[named]] = explainAll('guest/visitor shop/web:80', '-o', 'json');
  expect(JSON.parse(named!)).not.toHaveProperty('note');
});
