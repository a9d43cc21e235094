import type { FakeApiServer } from './server.ts';

/** Disturbances that every watcher of an API server has to survive. */
export type Disturbance = 'cut' | 'end watches' | 'compact' | 'bookmark' | 'stream' | 'pages';

export function disturb(server: FakeApiServer, by: Disturbance): void {
  switch (by) {
    case 'cut':
      server.cut();
      break;
    case 'end watches':
      server.endWatches();
      break;
    case 'compact':
      server.compact();
      break;
    case 'bookmark':
      server.bookmark();
      break;
    case 'stream':
    case 'pages':
      server.canStream = by === 'stream';
      break;
  }
}
