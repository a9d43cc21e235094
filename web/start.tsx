/** Starts the page. */
import { render } from 'preact';
import { App } from './app.tsx';
import { givenFiles } from './state/given.ts';
import { startKeys } from './state/keys.ts';
import { files, openFiles } from './state/manifests.ts';
import { startExplaining } from './state/question.ts';
import { startRouting } from './state/route.ts';
import { startTheme } from './state/theme.ts';
import { startDropping } from './views/open.tsx';

export async function start(): Promise<void> {
  startTheme();
  startDropping();
  startKeys();
  startExplaining();
  render(<App />, document.querySelector('#app')!);
  await startRouting();
  // What a link has counts before what the page was made with.
  const given = givenFiles();
  if (given !== undefined && files.value.length === 0) await openFiles(given);
}
