/**
 * The packages of others in the image, by package-lock.json and what npm installed for it:
 *   node scripts/thirdparty.ts notices [FOLDER]   the licence of each package, and its text
 *   npm sbom --sbom-format cyclonedx --omit dev | node scripts/thirdparty.ts sbom
 *                                                 the same as CycloneDX, without parts that differ in each run
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

export interface Dependency {
  /** The path where it is installed: `node_modules/koffi`. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** SPDX. */
  readonly licence: string;
}

/** Licences under which an Apache-2.0 program may be passed on with the package in it. */
export const LICENCES: ReadonlySet<string> = new Set([
  'MIT',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  '0BSD',
  'BlueOak-1.0.0',
  'PSF-2.0',
  'Unlicense',
]);

const TEXT = /^(licen[cs]e|copying|notice)/i;

interface LockedPackage {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
}

/** Without development dependencies; with all optional ones, for every platform. */
export function dependencies(root: string): Dependency[] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { version, license = 'none' }]) => ({
      path,
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      licence: license,
    }));
}

/** The files that say how a package may be used, as they are. */
export function licenceTexts(root: string, { path }: Dependency): string[] {
  const folder = join(root, path);
  return readdirSync(folder)
    .filter(file => TEXT.test(file))
    .sort()
    .map(file => readFileSync(join(folder, file), 'utf8').trim());
}

export function noticesText(root: string): string {
  const installed = dependencies(root).filter(({ path }) => existsSync(join(root, path)));
  const sections = installed.map(dependency => {
    const { name, version, licence } = dependency;
    return [`${name} ${version} (${licence})`, ...licenceTexts(root, dependency)].join('\n\n');
  });
  return `${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** Two builds of the same sources give the same bill. */
export function stableBill(bill: string): string {
  const {
    serialNumber: _,
    metadata,
    ...rest
  } = JSON.parse(bill) as { serialNumber?: string; metadata: object };
  const { timestamp: __, ...stable } = metadata as { timestamp?: string };
  return `${JSON.stringify({ ...rest, metadata: stable }, null, 1)}\n`;
}

if (import.meta.main) {
  if (process.argv[2] === 'sbom') process.stdout.write(stableBill(await text(process.stdin)));
  else process.stdout.write(noticesText(process.argv[3] ?? join(import.meta.dirname, '..')));
}
