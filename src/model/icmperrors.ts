/** The ICMP messages that are errors: they quote the packet that they are about (RFC 792, RFC 4443). */
import type { Family } from './address.ts';

/**
 * Ranges of their types, as conntrack treats them: for ICMP unreachable, source quench and redirect, time exceeded and
 * parameter problem; for ICMPv6 all types that are not informational.
 */
export const ICMP_ERRORS: Readonly<Record<Family, readonly (readonly [number, number])[]>> = {
  ip: [
    [3, 5],
    [11, 12],
  ],
  ip6: [[0, 127]],
};

export function isIcmpError(family: Family, type: number): boolean {
  return ICMP_ERRORS[family].some(([first, last]) => first <= type && type <= last);
}
