/**
 * How long it takes from a packet that is denied to its line at a prompt: on its node, and through the API server, where
 * all agents are asked. One packet at a time, within the limit of a source. Exit code 1 where a budget is missed.
 *
 *     scripts/e2e prompt [PACKETS]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { absolute, type BenchRow, median } from '../../../bench/row.ts';
import { tableLines } from '../../../bench/table.ts';
import { toTerminal } from '../../../src/terminal/colours.ts';
import { until } from '../specs/support/cluster.ts';
import { ADMIN, Sender, typed } from '../specs/support/prompt.ts';
import { shop } from '../specs/support/shop.ts';
import { agents } from '../specs/support/site.ts';
import { percentiles } from './percentiles.ts';

const [packets = 50] = process.argv.slice(2).map(Number);
const EACH_MS = 600;

const place = await shop('prompt');
const agent = (await agents()).get(place.db.node)!;
const socket = `/proc/${agent.pid}/root/run/sluice/sluice.sock`;
const sender = await Sender.start(place.stranger.pid);
let port = 20_000;
console.log(`${packets} packets each, from the packet to its line, ms:`);
const rows = [
  await measure('on the node', 100, ['--socket', socket]),
  await measure('through the API server', 300, ADMIN),
];
sender.kill();
await place.leave();
console.log(tableLines(rows).map(toTerminal).join('\n'));
process.exit(rows.every(({ ok }) => ok) ? 0 : 1);

async function measure(what: string, budgetMs: number, where: readonly string[]): Promise<BenchRow> {
  const prompt = typed(['drops', '--follow', '-n', place.namespace], where);
  const lineOf = async (tried: number) => prompt.told.find(({ object }) => object.port === tried);
  await until('the prompt is told', async () => {
    await sleep(EACH_MS);
    await sender.send(place.db.address, port);
    return lineOf(port);
  });
  const times: number[] = [];
  for (let i = 0; i < packets; i++) {
    await sleep(EACH_MS);
    const sentMs = await sender.send(place.db.address, ++port);
    times.push((await until('its line', () => lineOf(port))).atMs - sentMs);
  }
  port++;
  await prompt.end();
  console.log(`  ${what.padEnd(24)} ${percentiles(times)}`);
  return absolute(`line at the prompt, ${what}, half of ${times.length}`, 'ms', median(times), budgetMs);
}
