/** What the answers of the page lack, in sentences. */
import { foreignNotes } from '../../src/answers/foreignnotes.ts';
import { hostNetworkNotes, unreadNotes } from '../../src/answers/reach/leftout.ts';
import type { LoadedCluster } from '../../src/inputs/files/load.ts';
import { readingNotes } from '../../src/inputs/files/tally.ts';
import { auditedNote } from '../../src/model/audited.ts';

/** A document that cannot be parsed may have been a policy. */
export const LOST = 'not all policies could be read: what is shown is what the others say';

export function notesOf(loaded: LoadedCluster): readonly string[] {
  return [
    ...(loaded.hidesPolicies ? [LOST] : []),
    ...readingNotes(loaded.reading),
    ...foreignNotes(loaded),
    ...auditedNote(loaded.cluster),
    ...hostNetworkNotes(loaded, () => true),
    ...unreadNotes([loaded], undefined),
  ];
}
