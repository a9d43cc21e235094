/** Connections all the time while something happens to the cluster: each has to meet what policy says. */
import { expect } from 'vitest';
import { type Attempt, Prober, type Wanted, wrong } from './prober.ts';
import { PORT, type RunningPod } from './site.ts';

export interface Expected {
  readonly from: RunningPod;
  readonly to: RunningPod;
  readonly wanted: Wanted;
}

const INTERVAL_MS = 10;
// A SYN that was dropped is sent again after a second: a later answer would hide it.
const LIMIT_MS = 950;

/** Behind the action, over each address: an effect that comes late is met by one of them. */
const AFTERWARDS = 100;

/** Over every address of each `to`, from before `action` until `AFTERWARDS` connections after it. */
export async function undisturbed(
  expected: readonly Expected[],
  action: () => Promise<unknown>,
): Promise<void> {
  const probes: { prober: Prober; mine: Expected[]; flows: number }[] = [];
  try {
    for (const [from, mine] of Map.groupBy(expected, ({ from }) => from)) {
      const flows = mine.flatMap(({ to }) => to.addresses.map(address => ({ address, port: PORT })));
      const prober = await Prober.start(from, { flows, intervalMs: INTERVAL_MS, limitMs: LIMIT_MS });
      probes.push({ prober, mine, flows: flows.length });
    }
    await action();
    await Promise.all(probes.map(({ prober, flows }) => prober.another(AFTERWARDS * flows)));
    const ended = await Promise.all(
      probes.map(async ({ prober, mine }) => ({ mine, attempts: await prober.stop() })),
    );
    for (const { mine, attempts } of ended) check(mine, attempts);
  } finally {
    for (const { prober } of probes) prober.kill();
  }
}

/** Flows are in the order of what is expected, one for each address. */
function check(expected: readonly Expected[], attempts: readonly Attempt[]): void {
  const wanted = expected.flatMap(({ from, to, wanted }) =>
    to.addresses.map(address => ({ wanted, what: `${from.name} -> ${to.name} ${address}` })),
  );
  for (const [flow, { wanted: outcome, what }] of wanted.entries()) {
    expect(wrong(attempts, flow, outcome), what).toEqual([]);
  }
  expect(attempts.length, 'connections were opened all the time').toBeGreaterThan(100);
}
