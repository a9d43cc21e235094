/** The line that the editor is to show. */
import { signal } from '@preact/signals';
import type { Place } from '../core/protocol.ts';

/** A new object for each request, so that the same line can be asked for again. */
export const wantedLine = signal<Place | undefined>(undefined);

export function goToLine(place: Place): void {
  wantedLine.value = { ...place };
}
