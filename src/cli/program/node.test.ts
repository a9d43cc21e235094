import { expect, test } from 'vitest';
import type { NodeActions } from './nodeactions.ts';
import { makeProgram } from './program.ts';

test.each(
  makeProgram({} as NodeActions)
    .commands.flatMap(command => [command, ...command.commands])
    .map(command => [command.name(), command] as const),
)('%s --help says its exit codes, and has an example', (name, command) => {
  let help = '';
  command.configureOutput({ writeOut: text => (help += text) }).outputHelp();
  expect(help).toMatch(/Exit code [01]\b/);
  expect(help).toMatch(/\b2(:| where| for)/);
  expect(help).toMatch(new RegExp(`^  (.*(\\| |<\\())?sluice (inspect )?${name}\\b`, 'm'));
});
