/**
 * Raw frames of hostile pods, as many as there is time for, with a new seed each time:
 *   npm run fuzz:frames -- --seconds 60            prints its seed
 *   npm run fuzz:frames -- --seed 12345            the same frames again
 */
import { parseArgs } from 'node:util';
import { type Finding, fuzz } from './fuzz.ts';
import { FrameGround } from './ground.ts';
import { WIRINGS, type Wiring } from './network.ts';
import { Stage } from './stage.ts';
import { hitText, sequenceText } from './text.ts';

const USAGE = `npm run fuzz:frames -- [--seconds 60] [--seed 12345] [--wiring bridge|ptp] [--unknown-pods allow|deny]

Sends sequences of raw frames, as pods that policy denies would, on each kind of network for its part of the seconds, and
hears who hears them. Exits with 1 where anybody does who may not, or where connection tracking knows what was denied, and
shows the fewest frames that do it.
Needs root.
`;
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    wiring: { type: 'string' },
    'unknown-pods': { type: 'string', default: 'allow' },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit();
}
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const seconds = Number(values.seconds);
const wirings = WIRINGS.filter(wiring => values.wiring === undefined || wiring === values.wiring);
const unknownPods = values['unknown-pods'];
if (!(seconds > 0) || !Number.isInteger(seed)) throw new TypeError('--seconds and --seed take numbers');
if (wirings.length === 0) throw new TypeError(`--wiring is one of ${WIRINGS.join(', ')}`);
if (unknownPods !== 'allow' && unknownPods !== 'deny') throw new TypeError('--unknown-pods is allow or deny');

process.stdout.write(`seed ${seed}, ${seconds} seconds\n`);
let failed = 0;
for (const wiring of wirings) await run(wiring);
process.stdout.write(`${wirings.length - failed} passed, ${failed} failed\n`);
if (failed > 0) process.exitCode = 1;

async function run(wiring: Wiring): Promise<void> {
  const ground = await FrameGround.build({ wiring, unknownPods: unknownPods as 'allow' | 'deny' });
  const stage = await Stage.open(ground);
  try {
    const result = await fuzz(stage, {
      seed,
      seconds: seconds / wirings.length,
      onFinding: write,
    });
    const perSecond = Math.round(result.frames / result.seconds);
    process.stdout.write(
      `${wiring}: ${result.frames} frames in ${result.sequences} sequences, ${perSecond} a second; ${result.findings.length} ways past policy, ${result.unsteady.length} hits that did not happen again; ${result.judged} plain packets, ${result.misjudged.length} misjudged\n`,
    );
    for (const text of result.unsteady) process.stdout.write(`NOT AGAIN on ${wiring}:\n${text}\n`);
    for (const sentence of new Set(result.misjudged))
      process.stdout.write(`MISJUDGED on ${wiring}: ${sentence}\n`);
    if (result.findings.length + result.misjudged.length > 0 || result.frames === 0) failed++;
  } finally {
    stage.close();
    ground.remove();
  }

  function write({ game, sequence, hit, seconds: after, frames }: Finding): void {
    process.stdout.write(
      `FOUND on ${wiring}, "${game.name}", after ${after.toFixed(1)} s and ${frames} frames\n${sequenceText(sequence)}  => ${hitText(hit, sequence)}\n`,
    );
  }
}
