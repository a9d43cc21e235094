/** Around the specs of every file: a failure is asked about while it stands, and nothing stays behind. */
import { basename, join } from 'node:path';
import { afterAll, afterEach } from 'vitest';
import { command, reports } from './cluster.ts';
import { leaveAll } from './site.ts';

const EVIDENCE = join(import.meta.dirname, '../../nodes/evidence.sh');

afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return;
  const time = new Date().toISOString().replace(/[-:]|\..*/g, '');
  await command(EVIDENCE, join(reports, `evidence-${basename(task.file.name)}-${time}`));
});

// The first one that is registered is the last one to run.
afterAll(leaveAll);
