/** A part of the page that opens and closes. Which are open is in the link. */
import type { ComponentChildren, DetailsHTMLAttributes } from 'preact';
import { parts } from '../state/view.ts';

interface PartProps extends DetailsHTMLAttributes<HTMLDetailsElement> {
  /** The same for the same part in every window. */
  readonly name: string;
  /** Until somebody opens or closes it. */
  readonly isOpen?: boolean;
  readonly children: ComponentChildren;
}

export function Part({ name, isOpen = false, children, ...others }: PartProps) {
  return (
    <details
      {...others}
      open={parts.value.get(name) ?? isOpen}
      onToggle={({ currentTarget: { open } }) => {
        if (open === (parts.peek().get(name) ?? isOpen)) return;
        const rest = [...parts.peek()].filter(([each]) => each !== name);
        parts.value = new Map(open === isOpen ? rest : [...rest, [name, open]]);
      }}
    >
      {children}
    </details>
  );
}
