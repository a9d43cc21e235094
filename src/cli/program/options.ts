/** Options that several commands have. */
import { InvalidArgumentError, Option } from 'commander';

/** The formats that a command has beside text: yaml and json are for programs, and wide shortens nothing. */
export const output = (...others: readonly string[]) =>
  new Option('-o, --output <format>', 'output format')
    .choices(['text', ...others, 'json', 'yaml'])
    .default('text');

export const socket = (description: string) =>
  new Option('--socket <path>', description).default('/run/sluice/sluice.sock');

export const unknownPods = (description: string) =>
  new Option('--unknown-pods <what>', description).choices(['deny', 'allow']);

export const manifests = ['--manifests <dir>', 'folder (or file) of Kubernetes manifests'] as const;

export function seconds(text: string): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value > 0)) throw new InvalidArgumentError('not a number of seconds.');
  return value;
}
