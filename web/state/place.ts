/** The line that the editor is to show. */
import { signal } from '@preact/signals';
import type { Place } from '../core/protocol.ts';
import { file, isEditing, pane } from './view.ts';

/** A new object for each request, so that the same line can be asked for again. */
export const wantedLine = signal<Place | undefined>(undefined);

/** Opens the editor at a line of a manifest. */
export function showPlace(place: Place): void {
  file.value = place.file;
  isEditing.value = true;
  pane.value = 'edit';
  wantedLine.value = { ...place };
}
