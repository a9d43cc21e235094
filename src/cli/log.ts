/** Logs: one line per event, JSON for machines, words for a terminal. */
import { type Logger, pino } from 'pino';
import { PinoPretty } from 'pino-pretty';
import { inColour } from './colours.ts';

export function makeLog(format: 'json' | 'pretty'): Logger {
  if (format === 'json') return pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime });
  const pretty = PinoPretty({
    translateTime: 'HH:MM:ss.l',
    singleLine: true,
    colorize: inColour(process.env, process.stdout),
    sync: true,
  });
  return pino({ base: null }, pretty);
}
