import { createRequire } from 'node:module';

/** The build of the one-file program inserts it, because there is no package.json beside that file. */
declare const SLUICE_VERSION: string | undefined;
/** `1e181e7f of 2026-11-27`; scripts/release-files inserts it. */
declare const SLUICE_COMMIT: string | undefined;

const isOneFile = typeof SLUICE_VERSION === 'string';
/** The build of a release's image writes `commit` into it. */
const manifest: { readonly version: string; readonly commit?: string } = isOneFile
  ? { version: SLUICE_VERSION }
  : createRequire(import.meta.url)('../../../package.json');

export const VERSION = manifest.version;

/** The commit of a release, and its day. */
export const COMMIT: string | undefined = typeof SLUICE_COMMIT === 'string' ? SLUICE_COMMIT : manifest.commit;
