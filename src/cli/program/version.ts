import { createRequire } from 'node:module';

/** The one-file program has it written into it: no package.json lies beside that. */
declare const SLUICE_VERSION: string | undefined;

export const VERSION: string =
  typeof SLUICE_VERSION === 'string'
    ? SLUICE_VERSION
    : createRequire(import.meta.url)('../../../package.json').version;
