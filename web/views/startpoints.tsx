/** Policies to begin with, each in one sentence. */
import { addText } from '../state/edits.ts';
import { overview } from '../state/manifests.ts';
import { POINTS } from '../state/startpoints.ts';
import { startNamespace } from '../state/view.ts';
import { Part } from './part.tsx';

export function StartPoints() {
  const { namespaces = [] } = overview.value?.vocabulary ?? {};
  const chosen = namespaces.find(each => each === startNamespace.value) ?? namespaces[0] ?? 'default';
  const taken = new Set(overview.value?.policies.map(({ name }) => name));
  return (
    <Part name="start">
      <summary>Begin with a policy</summary>
      <label>
        In namespace{' '}
        <select
          value={chosen}
          onChange={({ currentTarget }) => {
            startNamespace.value = currentTarget.value;
          }}
        >
          {(namespaces.length > 0 ? namespaces : [chosen]).map(each => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <ul class="start-points">
        {POINTS.map(({ title, sentence, make }) => (
          <li key={title}>
            <button type="button" onClick={() => addText('new-policies.yaml', make(chosen, taken))}>
              {title}
            </button>
            <p class="hint">{sentence}</p>
          </li>
        ))}
      </ul>
    </Part>
  );
}
