/**
 * The composition root: the parts of each command are made here and in the command's own file, nowhere else. Commands
 * are loaded on demand, so that the agent loads only its own parts.
 */

import '../daemon/stopsignal.ts'; // first: it must listen before all else is loaded

import { endWithLauncher } from './launch.ts';
import type { NodeActions } from './program/nodeactions.ts';
import { makeProgram } from './program/program.ts';
import { run } from './program/run.ts';

const actions: NodeActions = {
  agent: async options => (await import('../daemon/agent.ts')).agentCommand(options),
  trace: async (from, to, options) => (await import('./trace.ts')).traceCommand(from, to, options),
  inspect: async (what, options) => (await import('./inspect.ts')).inspectCommand({ ...options, what }),
  drops: async options => (await import('./drops/drops.ts')).dropsCommand(options),
  record: async (file, options) => (await import('./recording/record.ts')).recordCommand(file, options),
  flows: async options => (await import('./drops/flows.ts')).flowsCommand(options),
  dump: async options => (await import('./dump.ts')).dumpCommand(options),
  names: async (pods, options) => (await import('./dump.ts')).namesCommand(pods, options),
  status: async options => (await import('./status.ts')).statusCommand(options),
  uninstall: async options => (await import('./uninstall/uninstall.ts')).uninstallCommand(options),
};

endWithLauncher();
await run(makeProgram(actions));
