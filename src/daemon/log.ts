/** Logs: one line per event, JSON for machines, words for a terminal. */
import { type Logger, type LoggerOptions, pino } from 'pino';
import { inColour } from '../terminal/colours.ts';
import { jsonLogLine, shownLogLine } from '../terminal/logline.ts';
import type { LogOptions } from './options.ts';

/** `debug` shows the events too that change nothing. */
export async function makeLog({ logFormat, logLevel: level = 'info' }: LogOptions): Promise<Logger> {
  const common: LoggerOptions = { base: null, level, formatters: { level: label => ({ level: label }) } };
  if ((logFormat ?? formatFor(process.stdout)) === 'json') {
    const hooks = { streamWrite: jsonLogLine };
    return pino({ ...common, hooks, timestamp: pino.stdTimeFunctions.isoTime });
  }
  const { PinoPretty } = await import('pino-pretty');
  const pretty = PinoPretty({
    translateTime: 'HH:MM:ss.l',
    singleLine: true,
    errorLikeObjectKeys: [],
    colorize: inColour(process.env, process.stdout),
    sync: true,
  });
  return pino({ ...common, hooks: { streamWrite: shownLogLine } }, pretty);
}

function formatFor({ isTTY }: { readonly isTTY: boolean }): 'json' | 'pretty' {
  return isTTY ? 'pretty' : 'json';
}
