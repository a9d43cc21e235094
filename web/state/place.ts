/** The line that the editor is to show. */
import { computed, signal } from '@preact/signals';
import { printable } from '../../src/terminal/printable.ts';
import type { Place } from '../core/protocol.ts';
import { base, files, overview } from './manifests.ts';
import { explained } from './question.ts';
import { file, isEditing, pane, parts, view } from './view.ts';

interface Wanted extends Place {
  /** The focus stays where it is. */
  readonly isQuiet?: true;
}

/** A new object for each request, so that the same line can be asked for again. */
export const wantedLine = signal<Wanted | undefined>(undefined);

/** Opens the editor at a line of a manifest. */
export function showPlace(place: Wanted): void {
  file.value = place.file;
  isEditing.value = true;
  pane.value = 'edit';
  wantedLine.value = { ...place };
}

/** Opens the editor at what is looked at, or where it was. */
export function openEditor(): void {
  const place = placeLookedAt();
  if (place?.file !== undefined) showPlace({ ...place, isQuiet: true });
  isEditing.value = true;
  pane.value = 'edit';
}

/** Of the policy that decides, or of the one that was opened last among all. */
function placeLookedAt(): Place | undefined {
  const reply = explained.value;
  if (reply?.kind === 'answered' && !('error' in reply.answer.answer)) {
    const { egress, ingress } = reply.answer.answer;
    const all = [ingress, egress].flatMap(each => each ?? []);
    const { stops = [] } = all.find(({ verdict }) => verdict === 'deny') ?? all[0] ?? {};
    const { policy, rule = '' } =
      stops.find(({ part }) => part === 'decided') ?? stops.find(({ says }) => says === 'isolates') ?? {};
    return reply.answer.places[`${policy} ${rule}`];
  }
  if (view.value !== 'policies') return undefined;
  const opened = [...parts.value.keys()].findLast(name => name.startsWith(POLICY_PART));
  return overview.value?.policies.find(({ id }) => `${POLICY_PART}${id}` === opened)?.place;
}

/** How the parts of policies are named. */
export const POLICY_PART = 'policy ';

const HAS_POLICY = /\bkind["']?: *["']?(?:Cluster|(?:Baseline)?Admin)?NetworkPolicy\b/;

/** Of the manifests as they were opened, so that no key that is typed leads elsewhere. */
const firstWithPolicy = computed(() => base.value.find(([, text]) => HAS_POLICY.test(text))?.[0]);

/** The name of the file in the editor as the manifests have it: links and places have it as it is shown. */
export const currentName = computed<string | undefined>(() => {
  const names = files.value.map(([name]) => name);
  const asked = names.find(name => printable(name) === file.value);
  return asked ?? names.find(name => name === firstWithPolicy.value) ?? names[0];
});
