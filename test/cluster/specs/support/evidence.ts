/** Before a spec that failed clears up, the nodes are asked what they know of it. */
import { basename, join } from 'node:path';
import { afterEach } from 'vitest';
import { command, reports } from './cluster.ts';

const SCRIPT = join(import.meta.dirname, '../../evidence.sh');

afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return;
  const time = new Date().toISOString().replace(/[-:]|\..*/g, '');
  await command(SCRIPT, join(reports, `evidence-${basename(task.file.name)}-${time}`));
});
