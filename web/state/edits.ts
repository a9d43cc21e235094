/** Edits that buttons make: texts that are added to the manifests. */
import { files, setText } from './manifests.ts';
import { file, isEditing } from './view.ts';

/** Adds documents to a file, which is made if it is not there, and shows it. */
export function addText(name: string, text: string): void {
  const known = files.value.find(([each]) => each === name)?.[1];
  setText(name, known === undefined || known.trim() === '' ? text : `${known.trimEnd()}\n---\n${text}`);
  file.value = name;
  isEditing.value = true;
}
