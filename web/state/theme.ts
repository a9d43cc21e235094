/** Light or dark: as the system has it, until a person chooses. */
import { effect } from '@preact/signals';
import { keep, kept } from './kept.ts';
import { type Theme, theme } from './view.ts';

const NAME = 'sluice-theme';

export function startTheme(): void {
  const chosen = kept(NAME);
  if (chosen === 'light' || chosen === 'dark') theme.value = chosen;
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  keep(NAME, chosen);
}
