import { readFileSync } from 'node:fs';
import { agents } from '../specs/support/site.ts';

const TICKS_PER_SECOND = 100;

/** What the agents of all nodes have taken since they started, in seconds. */
export async function agentsCpu(): Promise<number> {
  return [...(await agents()).values()].reduce((sum, { pid }) => sum + ofProcess(pid), 0);
}

/** User and system time, fields 14 and 15 of proc(5)'s stat: the name before them may hold anything but `) `. */
function ofProcess(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
