/** Things that must be undone however this process ends: normally, by an exception, or by a signal. */

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const pending = new Set<() => void>();

/** Has `undo` run when the process ends. Answers how to call that off. `undo` must be synchronous. */
export function undoAtExit(undo: () => void): () => void {
  if (pending.size === 0) listen();
  pending.add(undo);
  return () => {
    pending.delete(undo);
    if (pending.size === 0) unlisten();
  };
}

function listen(): void {
  process.on('exit', undoAll);
  for (const signal of SIGNALS) process.on(signal, undoAndDie);
}

function unlisten(): void {
  process.off('exit', undoAll);
  for (const signal of SIGNALS) process.off(signal, undoAndDie);
}

function undoAll(): void {
  // The last one first: later things were built upon earlier ones.
  for (const undo of [...pending].reverse()) {
    pending.delete(undo);
    undo();
  }
}

function undoAndDie(signal: NodeJS.Signals): void {
  undoAll();
  unlisten();
  process.kill(process.pid, signal); // Our listeners are removed: the default action ends us, with the right status.
}
