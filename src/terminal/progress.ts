/** What takes longer than a second says so, on one line of the terminal that is gone when it ends. */
import { writeProgress } from './output.ts';

export interface Progress {
  show(text: string): void;
  end(): void;
}

const QUIET_MS = 1000;

export function startProgress(): Progress {
  const since = performance.now();
  let isShown = false;
  return {
    show: text => {
      if (performance.now() - since < QUIET_MS || process.stderr.isTTY !== true) return;
      writeProgress(text);
      isShown = true;
    },
    end: () => {
      if (isShown) writeProgress('');
    },
  };
}
