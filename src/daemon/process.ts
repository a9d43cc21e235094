/** What the process itself needs before anything else. */
import type { Logger } from 'pino';
import { keepMemorySmall } from '../kernel/host/memory.ts';
import { makeLog } from './log.ts';
import type { LogOptions } from './options.ts';
import { nameProcess } from './processname.ts';

export function prepareProcess(options: LogOptions): Promise<Logger> {
  keepMemorySmall();
  nameProcess('sluice');
  return makeLog(options);
}
