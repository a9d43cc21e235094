/** The neighbour's samples beside one attack, in turns with peace, and what the agent weighed and held meanwhile. */
import { setTimeout } from 'node:timers/promises';
import { tracking } from '../trackedconnection.ts';
import type { Attack } from './attacks.ts';
import { NeighboursSite, type Sample } from './site.ts';

export interface Duel {
  readonly peace: readonly Sample[];
  readonly attacked: readonly Sample[];
  readonly longestTurnMs: number;
  readonly peakMb: number;
}

const TURNS = 3;
const PER_TURN = 8;
/** Pause between two of the neighbour's edits, so that its own edits do not use up its budget. */
const PAUSE_MS = 250;
/** No further sample of a turn begins after that time. */
const TURN_MS = 15_000;
const SETTLE_MS = 1000;
/** Shifts the neighbour's changes against the work that an edit causes. */
const PHASE_MS = 60;

export async function duel(dist: string, attack: Attack): Promise<Duel> {
  const site = await NeighboursSite.open(dist, attack);
  try {
    await samples(site); // warm
    await site.agent.longestTurnMs();
    const [peace, attacked]: [Sample[], Sample[]] = [[], []];
    for (let turn = 0; turn < TURNS; turn++) {
      peace.push(...(await samples(site)));
      attacked.push(...(await samples(site, await begin(site, attack))));
      await end(site);
      await setTimeout(SETTLE_MS);
      await site.deny(); // when the work that the attack caused is done
    }
    return { peace, attacked, longestTurnMs: await site.agent.longestTurnMs(), peakMb: site.agent.peakMb() };
  } catch (error) {
    throw new Error(`${(error as Error).message}; the agent said at the end: ${site.agent.output}`, {
      cause: error,
    });
  } finally {
    await site.close();
  }
}

/** Prepares each of the neighbour's changes, the n-th of its turn. */
type Prepare = (n: number) => Promise<void>;

async function begin(
  site: NeighboursSite,
  { name, open, isDenied, starts }: Attack,
): Promise<Prepare | undefined> {
  const openAll = open && tracking(open);
  if (starts !== undefined) site.runtime!.begin(starts);
  if (openAll && isDenied) return n => denyAll(site, name, openAll, n);
  if (openAll) site.netns.run(openAll);
  await site.api.tell({ do: 'attack', name });
  await setTimeout(SETTLE_MS);
  return undefined;
}

/** As soon as the tenant's connections are open its edits deny them, and sooner or later the neighbour has a change. */
async function denyAll(site: NeighboursSite, name: string, openAll: () => void, n: number): Promise<void> {
  await site.api.tell({ do: 'first edit', name });
  await setTimeout(SETTLE_MS);
  site.netns.run(openAll);
  await site.api.tell({ do: 'attack', name });
  await setTimeout(PHASE_MS * n);
}

async function end(site: NeighboursSite): Promise<void> {
  await site.api.tell({ do: 'peace' });
  await site.runtime?.end();
}

async function samples(site: NeighboursSite, prepare?: Prepare): Promise<Sample[]> {
  const taken: Sample[] = [];
  for (const endMs = performance.now() + TURN_MS; taken.length < PER_TURN && performance.now() < endMs; ) {
    await prepare?.(taken.length);
    taken.push(await site.deny());
    await setTimeout(PAUSE_MS);
  }
  return taken;
}
