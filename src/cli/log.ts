/** Logs: one line per event, JSON for machines, words for a terminal. */
import { type Logger, pino } from 'pino';
import { inColour } from './colours.ts';

export async function makeLog(format: 'json' | 'pretty'): Promise<Logger> {
  if (format === 'json') return pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime });
  const { PinoPretty } = await import('pino-pretty');
  const pretty = PinoPretty({
    translateTime: 'HH:MM:ss.l',
    singleLine: true,
    colorize: inColour(process.env, process.stdout),
    sync: true,
  });
  return pino({ base: null }, pretty);
}
