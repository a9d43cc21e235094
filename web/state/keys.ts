/** The key that shows all keys, from anywhere but a field, unless it was switched off: a program that hears speech may type it. */
import { signal } from '@preact/signals';
import { keep, kept } from './kept.ts';
import { showsKeys } from './view.ts';

const NAME = 'sluice-key';

export const hasKey = signal(kept(NAME) !== 'off');

export function switchKey(isOn: boolean): void {
  hasKey.value = isOn;
  keep(NAME, isOn ? 'on' : 'off');
}

export function hideKeys(): void {
  showsKeys.value = false;
}

export function startKeys(): void {
  addEventListener('keydown', event => {
    if (event.key !== '?' || !hasKey.value || isOfField(event)) return;
    showsKeys.value = !showsKeys.value;
    event.preventDefault();
  });
}

/** Also within a shadow root, where the editor is. */
export function isOfField(event: Event): boolean {
  const [at] = event.composedPath() as Partial<HTMLElement>[];
  return Boolean(at?.closest?.('input, textarea, [contenteditable]'));
}
