import { CommanderError } from 'commander';
import { expect, test } from 'vitest';
import type { NodeActions } from './nodeactions.ts';
import { makeProgram } from './program.ts';

/** The output and the exit code of `sluice help …`. */
async function help(...words: string[]) {
  const said = { out: '', err: '' };
  const program = makeProgram({} as NodeActions);
  for (const command of [program, ...program.commands])
    command.configureOutput({
      writeOut: text => (said.out += text),
      writeErr: text => (said.err += text),
    });
  const ended = await program.parseAsync(['help', ...words], { from: 'user' }).catch(error => error);
  if (!(ended instanceof CommanderError)) throw ended;
  return { ...said, exitCode: ended.exitCode };
}

test('help of a command that there is not names one that is near, as the command itself does', async () => {
  expect(await help('explian')).toEqual({
    out: '',
    err: "error: unknown command 'explian'\n(Did you mean explain?)\n(run sluice --help for more)\n",
    exitCode: 1,
  });
  expect((await help('nonsense')).err).toBe(
    "error: unknown command 'nonsense'\n(run sluice --help for more)\n",
  );
});

test.each([
  [[], /^Usage: sluice \[options\] \[command\]/],
  [['matrix'], /^Usage: sluice matrix /],
  [['help'], /^Usage: sluice help /],
])('help %s shows it', async (words, usage) => {
  expect(await help(...words)).toEqual({ out: expect.stringMatching(usage), err: '', exitCode: 0 });
});
