/** Of what nothing was found on any node: whether there is such a thing, which every agent knows of the whole cluster. */
import type { Agents } from './agents.ts';

const MOST_ASKED = 3;
const WAIT_MS = 10_000;
const SAID = /^no denied connection, and the agent knows (no .*)$/;

/** `no pod shop/wbe and no policy cnp:x`, as the first agent says that answers; undefined where it knows all, or none answers. */
export async function unknownTo(agents: Agents, words: readonly string[]): Promise<string | undefined> {
  const running = (await agents.list()).filter(({ phase }) => phase === 'Running');
  for (const pod of running.slice(0, MOST_ASKED)) {
    const lines: string[] = [];
    const heard = { line: (text: string) => void lines.push(text), note: () => undefined };
    const end = AbortSignal.timeout(WAIT_MS);
    const failed = await agents.run(pod, words, heard, { end }).catch((error: Error) => error.message);
    const said = lines.flatMap(line => SAID.exec(line)?.[1] ?? [])[0];
    if (said !== undefined || (failed === undefined && !end.aborted)) return said;
  }
  return undefined;
}
