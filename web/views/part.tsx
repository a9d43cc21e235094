/** A part of the page that opens and closes. Which are open is in the link. */
import { useSignal } from '@preact/signals';
import { type ComponentChildren, type DetailsHTMLAttributes, toChildArray } from 'preact';
import { useEffect } from 'preact/hooks';
import { parts } from '../state/view.ts';

interface PartProps extends DetailsHTMLAttributes<HTMLDetailsElement> {
  /** The same for the same part in every window. */
  readonly name: string;
  /** Until somebody opens or closes it. */
  readonly isOpen?: boolean;
  /** The first is its summary. */
  readonly children: ComponentChildren;
}

export function Part({ name, isOpen = false, children, ...others }: PartProps) {
  const isShown = parts.value.get(name) ?? isOpen;
  // What nobody sees yet comes after what is seen: for whoever searches the page.
  const isFilled = useSignal(false);
  useEffect(() => {
    isFilled.value = true;
  }, []);
  return (
    <details
      {...others}
      open={isShown}
      onToggle={({ currentTarget: { open } }) => {
        if (open === (parts.peek().get(name) ?? isOpen)) return;
        const rest = [...parts.peek()].filter(([each]) => each !== name);
        parts.value = new Map(open === isOpen ? rest : [...rest, [name, open]]);
      }}
    >
      {isShown || isFilled.value ? children : toChildArray(children)[0]}
    </details>
  );
}
