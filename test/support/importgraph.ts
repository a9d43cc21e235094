/** The imports among the files of src, read from their text. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export const SRC = join(import.meta.dirname, '../../src');
const WEB = join(SRC, '../web');

/** Paths are relative to src/; a package or a built-in is its own name. */
export interface Import {
  readonly from: string;
  readonly to: string;
  /** `import type` is erased: it loads nothing. */
  readonly loads: boolean;
}

export const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
  file => file.endsWith('.ts') && !file.endsWith('.test.ts'),
);

// `import … from '…'`, `export … from '…'` and `import '…'` at the start of a line, `import('…')` anywhere.
const IMPORT =
  /(?:^(?<static>import|export)\s(?<what>[^;'"`]*?\bfrom\s*)?|\bimport\s*\(\s*)'(?<target>[^']+)'/gm;

export const imports: readonly Import[] = files.flatMap(file =>
  [...readFileSync(join(SRC, file), 'utf8').matchAll(IMPORT)].map(({ groups }) => ({
    from: file,
    to: resolved(file, groups!.target!),
    loads: !/^type\b/.test(groups!.what ?? ''),
  })),
);

/** Imports of our own files, and not of packages or built-ins. */
export const ownImports = imports.filter(({ to }) => to.endsWith('.ts'));

/** Imports of our own files by those of the page: paths of `web/…`, or relative to src/. */
export const webImports: readonly Import[] = readdirSync(WEB, { recursive: true, encoding: 'utf8' })
  .filter(file => /(?<!\.test|\.d)\.tsx?$/.test(file))
  .flatMap(file =>
    [...readFileSync(join(WEB, file), 'utf8').matchAll(IMPORT)].flatMap(({ groups }) => {
      const { what = '', target = '' } = groups!;
      if (!/^\..*\.tsx?$/.test(target)) return [];
      const path = relative(join(WEB, '..'), join(WEB, dirname(file), target)).replace(/^src\//, '');
      return [{ from: `web/${file}`, to: path, loads: !/^type\b/.test(what) }];
    }),
  );

export const folderOf = (file: string) => file.split('/')[0]!;

/** Every file that is loaded when this one is, itself among them: also by `import()`, sooner or later. */
export function loadedBy(file: string): string[] {
  const loaded = new Set([file]);
  for (const from of loaded)
    for (const next of ownImports) if (next.from === from && next.loads) loaded.add(next.to);
  return [...loaded].sort();
}

function resolved(file: string, target: string): string {
  return target.startsWith('.') ? relative(SRC, join(SRC, dirname(file), target)) : target;
}
