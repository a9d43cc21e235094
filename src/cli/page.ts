/** `sluice matrix -o page`: the page of `web/` as one file, with the manifests in it. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, isAbsolute, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { ManifestCollector } from '../inputs/files/load.ts';
import { withoutSecrets } from '../inputs/files/withoutsecrets.ts';
import { listRepository } from '../inputs/folder/repository.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { writeUnwrapped } from '../terminal/output.ts';
import { printableJson } from '../terminal/printable.ts';
import { noteProblems } from '../terminal/problems.ts';
import { holdsNothing, nothingIn, readText, requireReadable } from './sources/files.ts';
import { writeNotes } from './sources/readstate.ts';

/** Where it is: in a release beside the one file; in a build in a folder of its own; or in the build of this checkout. */
const PLACES = ['.', 'page', '../page', '../../dist/page'].map(folder =>
  join(import.meta.dirname, folder, 'sluice.html'),
);

/** Throws CommandError where there is nothing to make a page of, or the page is not built. */
export async function writePage(paths: readonly string[] = []): Promise<void> {
  if (paths.length === 0)
    throw new CommandError(
      'a page is made of manifests: name --manifests, as in kubectl get pods,netpol -A -o yaml | sluice matrix --manifests - -o page',
    );
  for (const path of paths) await requireReadable(path);
  const files = await textsOf(paths);
  refuseEmpty(paths, files);
  const place = PLACES.find(existsSync);
  if (place === undefined)
    throw new CommandError(
      'there is no sluice.html beside this program: take it from the release, or npm run build',
    );
  writeUnwrapped(pageWith(await readFile(place, 'utf8'), files));
}

/** As `matrix` refuses it: it may be the wrong folder. */
function refuseEmpty(paths: readonly string[], files: readonly File[]): void {
  const collector = new ManifestCollector();
  for (const [name, contents] of files) collector.put(name, collector.read(contents, name));
  const read = collector.loaded();
  if (read.cluster.pods.size + read.inventory.workloads.size > 0) return;
  noteProblems(read.problems);
  if (holdsNothing(read)) writeNotes([nothingIn(paths, read)]);
  throw new CommandError('there is no pod and no workload in the manifests, so there is no matrix');
}

type File = readonly [name: string, text: string];

/** As data, which no browser runs; no text in it can end the element that it is in. */
export function pageWith(page: string, files: readonly File[]): string {
  const data = printableJson(files).replaceAll('<', '\\u003c');
  return page.replace('id="manifests"></script>', () => `id="manifests">${data}</script>`);
}

export async function textsOf(paths: readonly string[]): Promise<File[]> {
  const found = new Map<string, string>();
  for (const path of paths)
    if (path === '-') found.set('standard input', await text(process.stdin));
    else
      for (const file of (await listRepository(path)).files) {
        const contents = await readText(file);
        // What has no object of Kubernetes says nothing of a policy.
        if (file === path || contents.includes('apiVersion'))
          found.set(freeName(path, file, found), contents);
      }
  return [...found].map(([name, contents]) => [name, withoutSecrets(contents)]);
}

/** The page is passed on: where the manifests are on this machine is no part of it. */
function freeName(path: string, file: string, taken: ReadonlyMap<string, string>): string {
  const name = isAbsolute(file) ? join(basename(path), relative(path, file)) : file;
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${number}/${name}`;
  return free;
}
