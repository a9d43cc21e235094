/** Options that several commands have. */
import { Option } from 'commander';

export const output = () =>
  new Option('-o, --output <format>', 'output format').choices(['text', 'json']).default('text');

export const socket = (description: string) =>
  new Option('--socket <path>', description).default('/run/sluice/sluice.sock');

export const unknownPods = (description: string) =>
  new Option('--unknown-pods <what>', description).choices(['deny', 'allow']);

export const manifests = ['--manifests <dir>', 'folder (or file) of Kubernetes manifests'] as const;
