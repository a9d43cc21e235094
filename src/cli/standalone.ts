/**
 * The command line as one file, for any machine with Node 20, without libraries beside it. Where the full build is around
 * the file, it runs what concerns a node; without it, commands of nodes are asked of a cluster.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from '../terminal/commanderror.ts';
import type { NodeActions } from './program/nodeactions.ts';
import { makeProgram } from './program/program.ts';
import { run } from './program/run.ts';

/** The full build beside this file; it knows which version of Node it needs. */
const BUILD = join(import.meta.dirname, 'cli', 'sluice.js');

const hasBuild = existsSync(BUILD);

/** Runs the same command line by the full build. */
async function delegate(): Promise<void> {
  if (!hasBuild)
    throw new CommandError(
      `this command needs the whole build, and ${BUILD} is not there: npm ci && npm run build`,
    );
  await import(BUILD);
}

/**
 * A command that a workstation can ask of a cluster. The full build decides where it runs, because it can also ask this
 * machine.
 */
// biome-ignore lint/suspicious/noExplicitAny: as NodeActions has it
function asked(ask: (...args: any[]) => Promise<void>): (...args: any[]) => Promise<void> {
  return (...args) => (hasBuild ? delegate() : ask(...args));
}

const actions: NodeActions = {
  agent: delegate,
  trace: asked(async (from, to, options) =>
    (await import('./everynode/readback.ts')).traceCluster(from, to, options),
  ),
  inspect: asked(async (what, options) =>
    (await import('./everynode/readback.ts')).inspectCluster(what, options),
  ),
  record: asked(async (file, options) =>
    (await import('./recording/record.ts')).recordCommand(file, options),
  ),
  drops: asked(async options => (await import('./drops/drops.ts')).dropsCommand(options)),
  flows: asked(async options => (await import('./drops/flows.ts')).flowsCommand(options)),
  dump: delegate,
  names: delegate,
  status: asked(async options => (await import('./status.ts')).statusCommand(options)),
  uninstall: delegate,
};

await run(makeProgram(actions));
