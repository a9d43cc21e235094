/**
 * The command line as one file, for any machine with Node 20, without libraries beside it. Commands that only a node
 * can run are delegated to the full build around the file, if there is one.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from '../terminal/commanderror.ts';
import type { NodeActions } from './program/nodeactions.ts';
import { makeProgram } from './program/program.ts';
import { run } from './program/run.ts';

/** The full build beside this file; it knows which version of Node it needs. */
const BUILD = join(import.meta.dirname, 'cli', 'sluice.js');

/** Runs the same command line by the full build. */
async function delegate(): Promise<void> {
  if (!existsSync(BUILD))
    throw new CommandError(
      `this command needs the whole build, and ${BUILD} is not there: npm ci && npm run build`,
    );
  await import(BUILD);
}

const actions: NodeActions = {
  agent: delegate,
  trace: delegate,
  inspect: delegate,
  record: delegate,
  drops: delegate,
  flows: delegate,
  dump: delegate,
  status: delegate,
  uninstall: delegate,
};

await run(makeProgram(actions));
