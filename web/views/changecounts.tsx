import { changes, isEdited } from '../state/manifests.ts';

/** Beside the name of the view, as many as open and close. */
export function ChangeCounts() {
  const now = isEdited.value ? (changes.value?.changes ?? []) : [];
  const opens = now.filter(({ kind }) => kind === 'opens').length;
  if (now.length === 0) return null;
  return (
    <span class="change-counts">
      {opens > 0 && (
        <b data-kind="opens">
          {' '}
          +<span>{opens}</span>
        </b>
      )}
      {now.length > opens && (
        <b data-kind="closes">
          {' '}
          −<span>{now.length - opens}</span>
        </b>
      )}
    </span>
  );
}
