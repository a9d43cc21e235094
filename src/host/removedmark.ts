/**
 * The last sign of an agent that ends because Sluice is being removed: it changes nothing of this node any more, and its
 * pod is not started again. A file beside its sockets, which nobody but root can write.
 */
import { access, rm, writeFile } from 'node:fs/promises';

const MARK = '/run/sluice/removed';

/** Where the folder is not there, nobody waits for the mark either. */
export async function leaveRemovedMark(mark: string = MARK): Promise<void> {
  await writeFile(mark, '').catch(() => undefined);
}

/** Of an agent that has begun again, or by who has removed all else of this node. */
export function takeRemovedMark(mark: string = MARK): Promise<void> {
  return rm(mark, { force: true }).catch(() => undefined);
}

export function hasRemovedMark(mark: string = MARK): Promise<boolean> {
  return access(mark).then(
    () => true,
    () => false,
  );
}
