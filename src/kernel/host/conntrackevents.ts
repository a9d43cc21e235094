/** Whether the kernel reports new connections in this network namespace at all. */
import { readFileSync } from 'node:fs';

const SYSCTL = 'net.netfilter.nf_conntrack_events';

/** Why it does not; undefined where it does, or nobody can say. */
export function whyNoConntrackEvents(): string | undefined {
  if (readSysctl(SYSCTL) !== '0') return undefined;
  return `the kernel does not report connections (sysctl ${SYSCTL} is 0)`;
}

function readSysctl(sysctl: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${sysctl.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return undefined;
  }
}
