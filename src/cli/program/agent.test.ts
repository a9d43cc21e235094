import { expect, test } from 'vitest';
import type { NodeActions } from './nodeactions.ts';
import { makeProgram } from './program.ts';

/** The options with which the agent would be started. */
async function typed(...words: string[]): Promise<{ readonly logLevel?: string } | undefined> {
  let started: { readonly logLevel?: string } | undefined;
  const agent = async (options: { readonly logLevel?: string }) => {
    started = options;
  };
  const program = makeProgram({ agent } as Partial<NodeActions> as NodeActions);
  for (const command of [program, ...program.commands])
    command.configureOutput({ writeErr: () => undefined });
  await program.parseAsync(['agent', '--node', 'n1', ...words], { from: 'user' });
  return started;
}

test.each(['debug', 'info', 'warn', 'error'])('--log-level %s is a level', async level => {
  expect((await typed('--log-level', level))?.logLevel).toBe(level);
});

test.each(['loud', 'INFO', '30', ''])('--log-level %j is refused', async level => {
  await expect(typed('--log-level', level)).rejects.toThrow('Allowed choices are debug, info, warn, error');
});
