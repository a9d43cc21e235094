import { createRequire } from 'node:module';

/** The build of the one-file program inserts it, because there is no package.json beside that file. */
declare const SLUICE_VERSION: string | undefined;
/** `1e181e7f of 2026-11-27`; only what scripts/release-files makes has it. */
declare const SLUICE_COMMIT: string | undefined;

export const VERSION: string =
  typeof SLUICE_VERSION === 'string'
    ? SLUICE_VERSION
    : createRequire(import.meta.url)('../../../package.json').version;

/** The commit of a release, and its day. */
export const COMMIT: string | undefined = typeof SLUICE_COMMIT === 'string' ? SLUICE_COMMIT : undefined;
