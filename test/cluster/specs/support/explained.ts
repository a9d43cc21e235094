/** Connections as `sluice explain` says they are, and as they are. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cni, command, state } from './cluster.ts';
import { connection, type Place } from './site.ts';

const MAIN = join(import.meta.dirname, '../../../../src/cli/main.ts');

/** The plugins ptp and bridge are told not to masquerade; Flannel and Sluice's own network do. */
const MASQUERADE = ['ptp', 'bridge', 'kind'].includes(cni) ? 'no' : 'yes';

export interface Dial {
  readonly title: string;
  readonly client: Place;
  /** The client and what it dials, as a question has them. */
  readonly from: string;
  readonly to: string;
  /** What is dialled, if a question has another name for it: `10.0.0.1:80`. */
  readonly address?: string;
}

/** Fails where one is open and not allowed, or not open and allowed. Undecided: nobody answers, whatever policy says. */
export async function expectAsExplained(dials: readonly Dial[]): Promise<void> {
  const verdicts = await explained(dials);
  const wrong = verdicts.filter(verdict => !['allow', 'deny', 'undecided'].includes(verdict));
  expect(wrong).toEqual([]);
  const outcomes: boolean[] = [];
  for (let i = 0; i < dials.length; i += AT_ONCE) {
    const some = dials.slice(i, i + AT_ONCE);
    outcomes.push(...(await Promise.all(some.map((dial, j) => isOpen(dial, verdicts[i + j] === 'allow')))));
  }
  const lines = (opens: readonly boolean[]) =>
    dials.map(({ title }, i) => `${title}: ${opens[i] ? 'open' : 'not'}`);
  expect(lines(outcomes)).toEqual(lines(verdicts.map(verdict => verdict === 'allow')));
}

/** More would be late on a machine of two cores. */
const AT_ONCE = 10;

/** Once more where it is not as expected: a connection has a second, which may be too little. */
async function isOpen({ client, to, address = to }: Dial, expected: boolean): Promise<boolean> {
  const first = (await connection(client, address)) === 'open';
  return first === expected ? first : (await connection(client, address)) === 'open';
}

/** The verdicts, in the order of the connections; instead of one the line of an error. */
async function explained(dials: readonly Dial[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-explained-'));
  try {
    const file = join(folder, 'flows');
    writeFileSync(file, dials.map(({ from, to }) => `${from} -> ${to}`).join('\n'));
    const asked = ['--flows', file, '--kubeconfig', join(state, 'pki/admin.conf')];
    const options = [...asked, '--masquerade', MASQUERADE, '-o', 'json'];
    const { stdout, stderr } = await command(process.execPath, MAIN, 'explain', ...options);
    const lines = stdout.trim().split('\n');
    expect(lines, stderr).toHaveLength(dials.length);
    return lines.map(line => JSON.parse(line).verdict ?? line);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
