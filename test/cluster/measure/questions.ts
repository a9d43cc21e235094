/**
 * How long each question takes at a workstation: the one-file program as it is installed, from its start to its end, with
 * an administrator's kubeconfig. Questions that watch for a time count what they take beyond it. Exit code 1 where the
 * median of one is above its budget.
 *
 *     scripts/e2e questions [ROUNDS]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { absolute, median } from '../../../bench/row.ts';
import { tableLines } from '../../../bench/table.ts';
import { toTerminal } from '../../../src/terminal/colours.ts';
import { call, create, type KubeObject } from '../specs/support/api.ts';
import { ADMIN } from '../specs/support/prompt.ts';
import { shop } from '../specs/support/shop.ts';

const [rounds = 5] = process.argv.slice(2).map(Number);
const PROGRAM = join(import.meta.dirname, '../../../dist/sluice.mjs');
const BUDGET_S = 1.2;
const WATCHED_S = 1;
/** Everything was asked and answered; 1 says that the answer is no. */
const ANSWERED = [0, 1];

const place = await shop('questions');
const folder = mkdtempSync(join(tmpdir(), 'sluice-questions-'));
const { namespace } = place;
const policies = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`;
const annotations = { 'sluice.dev/enforcement': 'audit' };
await create({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'audited', namespace, annotations },
  spec: { podSelector: { matchLabels: { name: 'web' } }, policyTypes: ['Ingress'] },
} as KubeObject);
const after = join(folder, 'after.yaml');
writeFileSync(after, JSON.stringify(await call('GET', policies)));
const expected = join(folder, 'expected.yaml');
writeFileSync(expected, JSON.stringify({ flows: [`${namespace}/web -> ${namespace}/db:80 allow`] }));
const [web, db] = [`${namespace}/web`, `${namespace}/db`];
const watched = ['--for', `${WATCHED_S}s`];

try {
  const rows = [
    seconds(['explain', web, `${db}:80`]),
    seconds(['matrix']),
    seconds(['diff', '@cluster', after]),
    seconds(['test', expected]),
    seconds(['coverage']),
    seconds(['status']),
    seconds(['inspect', db]),
    seconds(['trace', web, db]),
    seconds(['drops', '--last', '5']),
    seconds(['flows', ...watched], WATCHED_S),
    seconds(['audit', ...watched], WATCHED_S),
    seconds(['record', ...watched, '--force', join(folder, 'recording.json')], WATCHED_S),
  ];
  console.log(tableLines(rows).map(toTerminal).join('\n'));
  process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
  await place.leave();
}

/** The first round is not counted: it reads the program from the disk, and the agents' caches are cold. */
function seconds(words: readonly string[], watchedS = 0) {
  const [, ...times] = Array.from({ length: rounds + 1 }, () => ask(words) - watchedS);
  return absolute(`${words[0]}, from outside`, 's', median(times), BUDGET_S);
}

function ask(words: readonly string[]): number {
  const startMs = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...words, ...ADMIN], {
    encoding: 'utf8',
  });
  const took = (performance.now() - startMs) / 1_000;
  if (!ANSWERED.includes(status ?? -1))
    throw new Error(`sluice ${words.join(' ')}: ${status}: ${stderr}${stdout}`);
  return took;
}
