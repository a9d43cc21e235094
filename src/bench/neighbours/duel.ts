/** The neighbour's samples beside one attack, in turns with peace, and what the agent weighed and held meanwhile. */
import { setTimeout } from 'node:timers/promises';
import { parseAddress } from '../../model/address.ts';
import { track } from '../trackedconnection.ts';
import type { Attack } from './attacks.ts';
import { HOSTILE_ADDRESS } from './population.ts';
import { NeighboursSite, type Sample } from './site.ts';

export interface Duel {
  readonly peace: readonly Sample[];
  readonly attacked: readonly Sample[];
  readonly longestTurnMs: number;
  readonly peakMb: number;
}

const TURNS = 3;
const PER_TURN = 8;
/** Between two of the neighbour's edits: what it does itself must not put it into debt. */
const PAUSE_MS = 250;
/** No further sample of a turn begins after that time. */
const TURN_MS = 15_000;
const SETTLE_MS = 1000;

export async function duel(dist: string, attack: Attack): Promise<Duel> {
  const site = await NeighboursSite.open(dist, attack);
  try {
    await samples(site); // warm
    await site.agent.longestTurnMs();
    const [peace, attacked]: [Sample[], Sample[]] = [[], []];
    for (let turn = 0; turn < TURNS; turn++) {
      peace.push(...(await samples(site)));
      await begin(site, attack);
      attacked.push(...(await samples(site)));
      await end(site);
      await setTimeout(SETTLE_MS);
      await site.deny(); // after all that the attack left to do
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

async function begin(site: NeighboursSite, { name, oneWayPackets, starts }: Attack): Promise<void> {
  if (oneWayPackets !== undefined) sendOneWay(site, oneWayPackets);
  if (starts !== undefined) site.runtime!.begin(starts);
  await site.api.tell({ do: 'attack', name });
  await setTimeout(SETTLE_MS);
}

async function end(site: NeighboursSite): Promise<void> {
  await site.api.tell({ do: 'peace' });
  await site.runtime?.end();
}

async function samples(site: NeighboursSite): Promise<Sample[]> {
  const taken: Sample[] = [];
  for (const endMs = performance.now() + TURN_MS; taken.length < PER_TURN && performance.now() < endMs; ) {
    taken.push(await site.deny());
    await setTimeout(PAUSE_MS);
  }
  return taken;
}

function sendOneWay({ netns }: NeighboursSite, count: number): void {
  const connections = Array.from({ length: count }, (_, i) => ({
    from: HOSTILE_ADDRESS,
    sourcePort: 1024 + (i % 50_000),
    to: parseAddress(`172.16.${(i >> 8) & 255}.${i & 255}`)!,
    port: 1000 + (i % 200),
    protocol: 'UDP' as const,
  }));
  netns.run(() => track(connections));
}
