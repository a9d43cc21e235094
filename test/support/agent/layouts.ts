/** The layouts of our tables that agents left at some commit, recorded as the bytes that put them up. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { Netns } from '../../../bench/lab/unnamed.ts';
import { LAYOUT } from '../../../src/compiler/layout.ts';
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import { Batch } from '../../../src/kernel/netlink/nftables/batch.ts';
import { NETLINK_NETFILTER } from '../../../src/kernel/netlink/nftables/constants.ts';
import { BatchEncoder } from '../../../src/kernel/netlink/nftables/encode.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import { OWNED } from '../../../src/kernel/netlink/nftables/ownership.ts';
import { readMessages, readReply } from '../../../src/kernel/netlink/wire/messages.ts';
import { NetlinkSocket } from '../../../src/kernel/netlink/wire/socket.ts';
import type { ClusterEvent, ClusterState } from '../../../src/model/cluster.ts';
import type { Kernel } from '../../../src/nft/kernel.ts';
import { plan } from '../../../src/nft/plan/plan.ts';
import { type Chain, mapTables, type Ruleset } from '../../../src/nft/ruleset.ts';
import { clusterOf } from '../oracle/inforce.ts';
import { withoutSizes } from '../oracle/withoutsizes.ts';
import { until } from '../until.ts';

export const LAYOUT_FOLDER = fileURLToPath(new URL('../../layouts', import.meta.url));
export const NAMES_LAYOUT_FOLDER = join(LAYOUT_FOLDER, 'names');
export const CLUSTER_FILE = join(LAYOUT_FOLDER, 'cluster.yaml');

/** Bytes and not our own types: those of today would be read by the code of tomorrow. */
export interface RecordedLayout {
  readonly layout: number;
  readonly commit: string;
  /** Batches of nf_tables that put the tables up, owner and persist; base64. */
  readonly batches: readonly string[];
}

export function encodeLayout(layout: number, commit: string, ruleset: Ruleset): RecordedLayout {
  const batch = new Batch();
  const encoder = new BatchEncoder(batch, {
    ops: plan({ tables: new Map() }, ruleset),
    firstSequence: 1,
    expected: 0,
    ack: 'last',
    tableFlags: OWNED,
    tables: [],
    echo: false,
    additions: 'any',
  });
  while (encoder.encode());
  return { layout, commit, batches: [batch.written.buffer.toString('base64', 0, batch.written.length)] };
}

/** The oldest first; those of another cluster are in another folder. */
export function recordedLayouts(folder = LAYOUT_FOLDER): RecordedLayout[] {
  return readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .map(name => JSON.parse(readFileSync(join(folder, name), 'utf8')) as RecordedLayout)
    .toSorted((a, b) => a.layout - b.layout);
}

/** The cluster that all were made of. */
export function layoutEvents(folder = LAYOUT_FOLDER): ClusterEvent[] {
  const file = join(folder, 'cluster.yaml');
  return parseAllDocuments(readFileSync(file, 'utf8')).map(document => {
    const { event, problems } = decodeObject(document.toJS());
    if (event === undefined || problems.length > 0) throw new Error(`${file}: ${JSON.stringify(problems)}`);
    return event;
  });
}

/** The cluster of the recorded layouts, or of another folder of layouts. */
export function layoutCluster(folder = LAYOUT_FOLDER): ClusterState {
  return clusterOf(layoutEvents(folder));
}

/**
 * Programs a layout in the network namespace of the calling thread, as the agent that left it did. Calling the returned
 * function ends that agent: its socket is closed.
 */
export function putUp({ batches, commit }: RecordedLayout): () => void {
  const socket = new NetlinkSocket(NETLINK_NETFILTER);
  for (const batch of batches) {
    const bytes = Buffer.from(batch, 'base64');
    socket.send({ bytes, address: undefined }, bytes.length);
    const length = socket.receive();
    const reply = [...readMessages(socket.received, length)].map(readReply)[0];
    if (reply === undefined || reply.errno !== 0)
      throw new Error(`the layout of ${commit} was not taken: ${JSON.stringify(reply)}`);
  }
  return () => socket.close();
}

/** Waits until the kernel has processed the closing of the owner's socket, which it does some time later. */
export async function orphaned(open: () => Promise<Kernel>): Promise<void> {
  const kernel = await open();
  try {
    await until('the tables have no owner', async () => (await kernel.owner()) !== 'another');
  } finally {
    kernel.close();
  }
}

/** A recorded layout as a desired state: that of an older agent after a downgrade. */
export async function rulesetOf(layout: RecordedLayout): Promise<Ruleset> {
  const netns = new Netns();
  const end = netns.run(() => putUp(layout));
  const kernel = await netns.run(() => openNftKernel());
  try {
    return withoutSizes((await kernel.dump()).ruleset);
  } finally {
    kernel.close();
    end();
    netns.close();
  }
}

/** The next layout, as it could be: it differs from this one in its hooks, its chains and its number, and judges alike. */
export function otherLayout(ruleset: Ruleset): Ruleset {
  return mapTables(ruleset, ({ sets, chains }) => ({
    sets,
    chains: new Map([[NEXT.name, NEXT], ...[...chains.values()].filter(isKept).flatMap(renamed)]),
  }));
}

/** A layout as an agent of a later version would leave it. */
export function nextLayout(today: Ruleset): RecordedLayout {
  return encodeLayout(LAYOUT + 1, 'to come', otherLayout(today));
}

const NEXT: Chain = { name: `layout-${LAYOUT + 1}`, rules: [] };

const isKept = ({ name }: Chain) => !name.startsWith('layout-');

/** Hooks beside one another judge a packet one behind the other, and one that is early for none. */
function renamed(chain: Chain): [string, Chain][] {
  const own: [string, Chain] = [chain.name, chain];
  if (chain.hook?.hook !== 'forward') return [own];
  const early: Chain = { ...chain, name: 'forward-early', hook: { ...chain.hook, priority: -10 } };
  return [own, [early.name, early]];
}
