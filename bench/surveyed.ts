/** In a process of its own: reads folders, says who reaches whom in the first or what changes to the second, and its cost. */

import { diffOf } from '../src/answers/reach/diff/diffview.ts';
import { matrixViewOf } from '../src/answers/reach/view.ts';
import { loadManifests } from '../src/cli/sources/manifests.ts';

const [old, now] = process.argv.slice(2);
const before = await loadManifests(old!);
const readMs = cpuMs();
const found =
  now === undefined
    ? matrixViewOf(before, 'allow').ends.length
    : diffOf(before, await loadManifests(now), 'allow').changes.length;
const { maxRSS } = process.resourceUsage();
process.stdout.write(JSON.stringify({ ms: cpuMs(), readMs, mb: maxRSS / 1024, found }));

/** CPU time, since the machine has other work to do. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
