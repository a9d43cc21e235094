/** Whether the agents of a cluster are of another version than this command line: then it may not understand them. */
import { groupedBy } from '../../lib/collections/groupedby.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { jsonOf } from '../../lib/text/jsonof.ts';
import { COMMIT, VERSION } from '../program/version.ts';
import type { AgentPod, Agents } from './agents.ts';

export interface Release {
  readonly version: string;
  /** `1e181e7f of 2026-11-27`; only releases have one. */
  readonly commit?: string;
}

const OWN: Release = { version: VERSION, ...(COMMIT !== undefined && { commit: COMMIT }) };

/** Agents of more images than these are in the middle of several rollouts. */
const MOST_IMAGES = 4;
const WAIT_MS = 5_000;
const MOST_NAMED = 3;

/**
 * One sentence where agents are older or newer, or another build of the same day. An agent of each image is asked. Never
 * throws: the answer of the command is the same without it.
 */
export async function versionNote(
  agents: Pick<Agents, 'run'>,
  pods: readonly AgentPod[],
  own: Release = OWN,
): Promise<string | undefined> {
  const running = pods.filter(({ phase, image }) => phase === 'Running' && image !== undefined);
  const images = [...groupedBy(running, ({ image = '' }) => image).values()].slice(0, MOST_IMAGES);
  const end = AbortSignal.timeout(WAIT_MS);
  const found = await Promise.all(
    images.map(async some => {
      const release = await releaseOf(agents, some[0]!, end).catch(() => undefined);
      const how = release && compared(own, release);
      return (
        how && [
          `${how} the agent of ${firstOf(some, MOST_NAMED, ({ node }) => node)} (${releaseText(release)})`,
        ]
      );
    }),
  );
  const parts = found.flatMap(part => part ?? []);
  return parts.length === 0
    ? undefined
    : `this command line (${releaseText(own)}) is ${parts.join(', and ')}`;
}

async function releaseOf(
  agents: Pick<Agents, 'run'>,
  pod: AgentPod,
  end: AbortSignal,
): Promise<Release | undefined> {
  let answer: Release | undefined;
  const line = (text: string) => {
    answer ??= releaseIn(text);
  };
  await agents.run(pod, ['sluice', 'version', '--output=json'], { line, note: () => undefined }, { end });
  return answer;
}

const LONGEST = 100;

function releaseIn(text: string): Release | undefined {
  if (text.length > 10 * LONGEST) return undefined;
  const { kind, version, commit } = (jsonOf(text) ?? {}) as Record<string, unknown>;
  if (kind !== 'Version' || typeof version !== 'string' || version.length > LONGEST) return undefined;
  return { version, ...(typeof commit === 'string' && commit.length <= LONGEST && { commit }) };
}

function releaseText({ version, commit }: Release): string {
  return commit === undefined ? version : `${version}, ${commit}`;
}

/**
 * By version, and where that is the same by the day of the commit. Undefined where they are the same, or nothing says
 * that they are not.
 */
export function compared(own: Release, other: Release): string | undefined {
  if (own.version !== other.version) {
    const [a, b] = [numbersOf(own.version), numbersOf(other.version)];
    if (a === undefined || b === undefined) return DIFFERENT;
    const differs = a.findIndex((number, i) => number !== b[i]);
    return differs === -1 ? DIFFERENT : a[differs]! < b[differs]! ? OLDER : NEWER;
  }
  if (own.commit === other.commit || own.commit === undefined || other.commit === undefined) return undefined;
  const [a, b] = [dayOf(own.commit), dayOf(other.commit)];
  if (a === undefined || b === undefined || a === b) return DIFFERENT;
  return a < b ? OLDER : NEWER;
}

const OLDER = 'older than';
const NEWER = 'newer than';
const DIFFERENT = 'another build than';

/** A version before a release (`1.0.0-rc.1`) comes before it, and is not compared with another one of them. */
function numbersOf(version: string): readonly number[] | undefined {
  const [, ...parts] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-.*)?$/.exec(version) ?? [];
  if (parts.length === 0) return undefined;
  return [...parts.slice(0, 3).map(Number), parts[3] === undefined ? 1 : 0];
}

function dayOf(commit: string): string | undefined {
  return / of (\d{4}-\d\d-\d\d)$/.exec(commit)?.[1];
}
