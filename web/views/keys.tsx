/** The keys, as a list over the page. */
import { useEffect, useRef } from 'preact/hooks';
import { hideKeys } from '../state/keys.ts';
import { showsKeys } from '../state/view.ts';
import { later } from './later.tsx';

const KeyList = later(async () => (await import('./keylist.tsx')).KeyList);

export function KeysButton() {
  return (
    <button
      type="button"
      class="keys-button"
      aria-label="Keys"
      title="Keys"
      aria-haspopup="dialog"
      onClick={() => {
        showsKeys.value = true;
      }}
    >
      ?
    </button>
  );
}

export function Keys() {
  const box = useRef<HTMLDialogElement>(null);
  const isShown = showsKeys.value;
  useEffect(() => {
    // A dialog that is shown takes the focus, and gives it back as it is closed.
    if (isShown && box.current?.open === false) box.current.showModal();
    if (!isShown) box.current?.close();
  }, [isShown]);
  return (
    <dialog class="keys" aria-labelledby="keys" ref={box} onClose={hideKeys}>
      {isShown && <KeyList />}
    </dialog>
  );
}
