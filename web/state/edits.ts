/** Edits that buttons make: texts that are added to the manifests. */
import { printable } from '../../src/terminal/printable.ts';
import { files, setText } from './manifests.ts';
import { showPlace } from './place.ts';

/** Adds documents to a file, which is made if it is not there, and shows them. */
export function addText(name: string, text: string): void {
  const known = files.value.find(([each]) => each === name)?.[1].trimEnd() ?? '';
  const before = known === '' ? '' : `${known}\n---\n`;
  setText(name, `${before}${text}`);
  showPlace({ file: printable(name), line: before.split('\n').length });
}
