/**
 * The folder in which network namespaces that we make are mounted. It is checked first: if other users could rename
 * files in it, or if a link is where the namespace should be, we would write to, mount on or unmount whatever the link
 * points to.
 */
import { lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** The same place without a link on the way to it; makes its folder where there is none. Throws where it is not safe. */
export function placeInSafeFolder(path: string): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  return safePlace(path);
}

/** Links of the system itself on the way (`/var/run`) are followed; every folder must be one that only root can change. */
export function safePlace(path: string): string {
  const folder = realpathSync(dirname(path));
  for (let each = folder; ; each = dirname(each)) {
    const reason = unsafe(lstatSync(each), each === folder);
    if (reason !== undefined) throw new Error(`${path} is not used: folder ${each} ${reason}`);
    if (each === dirname(each)) break;
  }
  const place = join(folder, basename(path));
  const found = lstatSync(place, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) throw new Error(`${path} is not used: it is not a plain file`);
  return place;
}

const STICKY = 0o1000;
const OTHERS_WRITE = 0o022;

/** In a sticky folder of the path others may add names, but not rename ours. */
function unsafe({ uid, mode }: Stats, isLast: boolean): string | undefined {
  if (uid !== 0 && uid !== process.geteuid?.()) return `belongs to user ${uid}`;
  const othersWrite = (mode & OTHERS_WRITE) !== 0;
  if (!othersWrite || (!isLast && (mode & STICKY) !== 0)) return undefined;
  return 'may be written by others';
}
