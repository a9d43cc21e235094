/** Ends what the worker does. */
import { stopReading } from '../state/manifests.ts';

export function StopButton() {
  return (
    <button type="button" onClick={stopReading}>
      Stop
    </button>
  );
}
