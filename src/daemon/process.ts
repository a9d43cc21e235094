/** What the process itself needs before anything else. */
import type { Logger } from 'pino';
import { keepMemorySmall } from '../host/memory.ts';
import { makeLog } from './log.ts';
import type { AgentCommandOptions } from './options.ts';
import { nameProcess } from './processname.ts';

export function prepareProcess({ logFormat }: AgentCommandOptions): Promise<Logger> {
  keepMemorySmall();
  nameProcess('sluice');
  return makeLog(logFormat ?? (process.stdout.isTTY ? 'pretty' : 'json'));
}
