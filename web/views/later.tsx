/** A part of the page that is loaded when it is first shown, so that the page is there sooner. The one file has it already. */
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { printable } from '../../src/terminal/printable.ts';

export function later(load: () => Promise<ComponentType>): ComponentType {
  const found = signal<{ readonly Part: ComponentType } | undefined>(undefined);
  const trouble = signal<string | undefined>(undefined);
  const start = async () => {
    try {
      found.value ??= { Part: await load() };
      trouble.value = undefined;
    } catch (error) {
      trouble.value = `This part of the page cannot be loaded: ${(error as Error).message}`;
    }
  };
  return () => {
    useEffect(() => void start(), []);
    if (found.value !== undefined) return <found.value.Part />;
    return trouble.value === undefined ? null : (
      <p class="failure" role="alert">
        {printable(trouble.value)}
      </p>
    );
  };
}
