/** Light or dark: as the system has it, until a person chooses. */
import { effect } from '@preact/signals';
import { type Theme, theme } from './view.ts';

const KEY = 'sluice-theme';

export function startTheme(): void {
  const kept = read();
  if (kept !== undefined) theme.value = kept;
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // A page from a folder may have no storage: then it is as the system has it next time.
  }
}

function read(): Theme | undefined {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === 'light' || kept === 'dark' ? kept : undefined;
  } catch {
    return undefined;
  }
}
