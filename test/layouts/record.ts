/**
 * Records the layout of an agent: node test/layouts/record.ts NUMBER COMMIT CHECKOUT [MANIFESTS FOLDER]
 *
 * Starts `sluice agent` of that checkout on cluster.yaml in a network namespace of its own, waits until its tables are
 * up, and writes them to NUMBER-COMMIT.json, as the batch that puts them up, and to NUMBER-COMMIT.nft, as nft lists
 * them. Needs root. With MANIFESTS of another cluster, into that folder.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Netns } from '../../bench/lab/unnamed.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import type { Ruleset } from '../../src/nft/ruleset.ts';
import { CLUSTER_FILE, encodeLayout, LAYOUT_FOLDER } from '../support/agent/layouts.ts';

const [number, commit, checkout, manifests = CLUSTER_FILE, folder = LAYOUT_FOLDER] = process.argv.slice(2);
if (checkout === undefined)
  throw new Error('usage: node test/layouts/record.ts NUMBER COMMIT CHECKOUT [MANIFESTS FOLDER]');

const netns = new Netns();
const agent = netns.run(() =>
  spawn(
    process.execPath,
    [
      ...[join(checkout, 'src/cli/main.ts'), 'agent', '--node', 'n1', '--manifests', manifests],
      ...['--socket', 'none', '--metrics-address', 'none'],
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  ),
);
const ended = once(agent, 'exit');
try {
  const kernel = await netns.run(() => openNftKernel());
  const ruleset = await settled(kernel);
  kernel.close();
  const file = join(folder, `${number}-${commit}`);
  writeFileSync(
    `${file}.json`,
    `${JSON.stringify(encodeLayout(Number(number), commit!, ruleset), null, 2)}\n`,
  );
  writeFileSync(`${file}.nft`, netns.exec('nft', ['-s', 'list', 'ruleset']));
} finally {
  agent.kill('SIGKILL');
  await ended;
  netns.close();
}

/** The tables once they have both been there for a second, and nothing has changed meanwhile. */
async function settled(kernel: Kernel): Promise<Ruleset> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const before = await kernel.generation();
    await setTimeout(1000);
    const { ruleset, generation } = await kernel.dump();
    if (ruleset.tables.size === 2 && generation === before) return ruleset;
  }
  throw new Error('the agent has put up no tables');
}
