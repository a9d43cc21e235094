/** `sluice-cni`, built for a test. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const SOURCE = join(import.meta.dirname, '../../../src/network/cni/sluice-cni.c');

/** Into a folder; answers the program's path. `deadlineMs` is in place of its own half a minute. */
export function buildShim(folder: string, deadlineMs?: number): string {
  const program = join(folder, `sluice-cni-${deadlineMs ?? 'own'}`);
  const deadline = deadlineMs === undefined ? [] : [`-DDEADLINE_MS=${deadlineMs}`];
  execFileSync('cc', ['-O1', '-Wall', '-Wextra', '-Werror', ...deadline, '-o', program, SOURCE]);
  return program;
}
