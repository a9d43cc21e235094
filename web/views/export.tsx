/** Takes an edit out of the page: as YAML, as a patch, or as a command. */
import { signal } from '@preact/signals';
import { printable } from '../../src/terminal/printable.ts';
import { base, files, isEdited } from '../state/manifests.ts';
import { kubectlCommand, patchText } from '../state/patch.ts';
import { copyText, saveText } from '../state/save.ts';
import { Part } from './part.tsx';

const said = signal('');

export function Export() {
  const edited = () => files.value.filter(([name, text]) => new Map(base.value).get(name) !== text);
  const all = () =>
    edited()
      .map(([, text]) => text.trimEnd())
      .join('\n---\n');
  const copyCommand = async () => {
    const made = kubectlCommand(edited());
    if ('none' in made) said.value = made.none;
    else
      said.value = (await copyText(made.command))
        ? 'Copied. It deletes nothing: an object that the edit took out stays in the cluster.'
        : 'This browser does not let the page copy: save it as a file.';
  };
  if (!isEdited.value) return null;
  return (
    <Part class="export" name="export">
      <summary>Take the edit with you</summary>
      <p>
        <button type="button" onClick={() => saveText('edited.yaml', `${all()}\n`)}>
          Save as YAML
        </button>{' '}
        <button type="button" onClick={() => saveText('edit.patch', patchText(base.value, files.value))}>
          Save as patch
        </button>{' '}
        <button type="button" onClick={() => void copyCommand()}>
          Copy as kubectl command
        </button>
      </p>
      <p class="hint" role="status">
        {said.value ||
          `Edited: ${
            edited()
              .map(([name]) => printable(name))
              .join(', ') || 'files were removed'
          }`}
      </p>
    </Part>
  );
}
