/** Policies to begin with, each in one sentence. */
import { addText } from '../state/edits.ts';
import { overview } from '../state/manifests.ts';
import { POINTS } from '../state/startpoints.ts';

export function StartPoints() {
  const namespaces = overview.value?.vocabulary.namespaces ?? [];
  return (
    <details>
      <summary>Begin with a policy</summary>
      <label>
        In namespace{' '}
        <select id="start-namespace">
          {(namespaces.length > 0 ? namespaces : ['default']).map(each => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <ul class="start-points">
        {POINTS.map(({ title, sentence, make }) => (
          <li key={title}>
            <button type="button" onClick={() => addText('new-policies.yaml', make(chosenNamespace()))}>
              {title}
            </button>
            <span> {sentence}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function chosenNamespace(): string {
  return document.querySelector<HTMLSelectElement>('#start-namespace')?.value ?? 'default';
}
