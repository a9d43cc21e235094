/** Work that takes longer than a second is shown on one line of the terminal, which disappears when the work ends. */
import pc from './colours.ts';
import { writeNote, writeProgress } from './output.ts';

export interface Progress {
  /** How far it is, now and then: shown once it has taken a second. */
  show(text: string): void;
  /** Announces work that begins now and may take long without output. */
  announce(text: string): void;
  end(): void;
}

/** Shows at a terminal that a command waits, and for what, on a line of its own beside its output. */
export function noteWait(text: string): void {
  if (process.stderr.isTTY === true) writeNote(pc.dim(text));
}

const QUIET_MS = 1000;

export function startProgress(): Progress {
  const since = performance.now();
  let isShown = false;
  const announce = (text: string) => {
    // A line cannot be replaced on a terminal that knows no control sequence.
    if (process.stderr.isTTY !== true || process.env.TERM === 'dumb') return;
    writeProgress(text);
    isShown = true;
  };
  return {
    show: text => {
      if (performance.now() - since >= QUIET_MS) announce(text);
    },
    announce,
    end: () => {
      if (isShown) writeProgress('');
      isShown = false;
    },
  };
}

/** Pods times policies that are judged in about a second. */
const LONG = 2_000_000;

/** Runs work that cannot report its progress; if it is large enough to take a second, a line says so first. */
export function withProgress<T>(
  what: string,
  {
    pods,
    policies,
  }: { readonly pods: { readonly size: number }; readonly policies: { readonly size: number } },
  work: () => T,
): T {
  const progress = startProgress();
  if (pods.size * policies.size > LONG)
    progress.announce(`${what}: ${pods.size} pods, ${policies.size} policies`);
  try {
    return work();
  } finally {
    progress.end();
  }
}
