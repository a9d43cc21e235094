/**
 * Logs: one line per event, JSON for machines, words for a terminal. SLUICE_LOG_LEVEL=debug in the environment shows
 * the events too that change nothing.
 */
import { type Logger, pino } from 'pino';
import { inColour } from '../terminal/colours.ts';
import { jsonLogLine, shownLogLine } from '../terminal/logline.ts';

export async function makeLog(format: 'json' | 'pretty'): Promise<Logger> {
  const level = process.env.SLUICE_LOG_LEVEL === 'debug' ? 'debug' : 'info';
  if (format === 'json') {
    const hooks = { streamWrite: jsonLogLine };
    return pino({ base: null, level, hooks, timestamp: pino.stdTimeFunctions.isoTime });
  }
  const { PinoPretty } = await import('pino-pretty');
  const pretty = PinoPretty({
    translateTime: 'HH:MM:ss.l',
    singleLine: true,
    errorLikeObjectKeys: [],
    colorize: inColour(process.env, process.stdout),
    sync: true,
  });
  return pino({ base: null, level, hooks: { streamWrite: shownLogLine } }, pretty);
}
