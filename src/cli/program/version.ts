import { createRequire } from 'node:module';

/** The build of the one-file program inserts it, because there is no package.json beside that file. */
declare const SLUICE_VERSION: string | undefined;

export const VERSION: string =
  typeof SLUICE_VERSION === 'string'
    ? SLUICE_VERSION
    : createRequire(import.meta.url)('../../../package.json').version;
