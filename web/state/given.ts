/** Manifests that the page was made with: `sluice matrix -o page` writes them into it, as data and not as a script. */
import type { Files } from '../core/protocol.ts';

export function givenFiles(): Files | undefined {
  const text = document.querySelector('#manifests')?.textContent;
  return text === undefined || text === null || text.trim() === '' ? undefined : (JSON.parse(text) as Files);
}
