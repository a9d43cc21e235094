/** What this kernel lacks: that it is found out, told once and shown; on every kernel that scripts/vm has. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openConntrack } from '../../src/kernel/netlink/conntrack/conntrack.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import {
  type MissingFeature,
  NO_ACK_AT_END,
  NO_CONNECTION_FILTER,
  NO_LAST,
  NO_OWNERS,
} from '../../src/nft/missingfeature.ts';
import { AgentProcess } from '../support/agent/agentprocess.ts';
import { Netns } from './netns.ts';

// Where everything is slow, as it was built: types need not be taken out of each file.
const BUILT = process.env.SLUICE_SLOW !== undefined;
const MAIN = fileURLToPath(
  new URL(`../../${BUILT ? 'dist/cli/main.js' : 'src/cli/main.ts'}`, import.meta.url),
);

let netns: Netns;
let folder: string;

beforeEach(() => {
  netns = new Netns();
  folder = mkdtempSync(join(tmpdir(), 'sluice-features-'));
});

afterEach(() => {
  netns.close();
  rmSync(folder, { recursive: true });
});

/** `6.1` before `6.10`. */
function isOlder(version: string): boolean {
  const [major, minor] = release().split('.').map(Number.parseFloat) as [number, number];
  const [sinceMajor, sinceMinor] = version.split('.').map(Number) as [number, number];
  return major < sinceMajor || (major === sinceMajor && minor < sinceMinor);
}

const lackedBy = (...all: MissingFeature[]) => all.filter(({ since }) => isOlder(since));
const lacked = lackedBy(NO_ACK_AT_END, NO_OWNERS, NO_LAST, NO_CONNECTION_FILTER);

test(`Linux ${release()} is found to lack what its version lacks, and nothing else`, async () => {
  const kernel = await netns.run(() => openNftKernel());
  expect(kernel.missingFeatures).toEqual(lackedBy(NO_ACK_AT_END, NO_OWNERS, NO_LAST));
  expect(await kernel.owner()).toBe(isOlder(NO_OWNERS.since) ? 'shared' : 'none');
  kernel.close();
  const conntrack = netns.run(() => openConntrack());
  expect(conntrack.missingFeatures).toEqual(lackedBy(NO_CONNECTION_FILTER));
  conntrack.close();
});

test('to be found out takes no generation and leaves nothing behind', async () => {
  const kernel = await netns.run(() => openNftKernel());
  const before = await kernel.generation();
  (await netns.run(() => openNftKernel())).close();
  netns.run(() => openConntrack()).close();
  expect(await kernel.generation()).toBe(before);
  kernel.close();
  expect(netns.exec('nft', ['list', 'ruleset'])).toBe('');
});

test('the agent says once what this kernel lacks, and sluice status shows it', async () => {
  const socket = join(folder, 'socket');
  writeFileSync(
    join(folder, 'namespace.yaml'),
    'apiVersion: v1\nkind: Namespace\nmetadata: { name: shop }\n',
  );
  const agent = new AgentProcess(netns.path, 'n1', ['--manifests', folder, '--socket', socket], MAIN);
  try {
    await agent.inForce();
    const told = agent.output.split('\n').filter(line => line.includes('"lacks":'));
    expect(told.map(line => (JSON.parse(line) as MissingFeature).lacks).sort()).toEqual(
      lacked.map(({ lacks }) => lacks).sort(),
    );
    const checks = JSON.parse(await status(socket)).checks as {
      name: string;
      state: string;
      reason: string;
    }[];
    const { state, reason } = checks.find(({ name }) => name === 'kernel-features')!;
    expect(state).toBe(lacked.includes(NO_OWNERS) ? 'warn' : 'ok');
    expect(reason).toContain(`Linux ${release()} has `);
    for (const { lacks, since, instead } of lacked)
      expect(reason).toContain(`${lacks}, since ${since}: ${instead}`);
  } finally {
    await agent.kill();
  }
});

/** The socket is there as soon as rules are in force, or a moment later. */
async function status(socket: string): Promise<string> {
  for (const deadline = Date.now() + (BUILT ? 600_000 : 60_000); ; )
    try {
      return execFileSync(process.execPath, [MAIN, 'status', '--socket', socket, '-o', 'json'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    } catch (error) {
      const { stdout } = error as { stdout: string };
      if (stdout.startsWith('{')) return stdout; // Not ready, and says so by its exit code.
      if (Date.now() > deadline) throw error;
    }
}
