import type { Address } from '../../../src/model/address.ts';
import type { Flow } from '../../../src/model/flow.ts';
import { bind, type Fd, SystemError } from '../libc.ts';
import { socketAddress } from './sockaddr.ts';

export interface ProbeEndpoint {
  readonly address: Address;
  readonly port: number;
}

/** A flow to try with real packets. */
export interface Probe extends Flow {
  /** Where the packet is sent, if not to where the flow ends: a Service that is translated on the way. */
  readonly via?: ProbeEndpoint;
}

/** A probe under way. */
export interface Attempt {
  readonly probe: Probe;
  /** Unique among all attempts of this process, 1 … 2^32-1. */
  readonly id: number;
  /** Called when both directions worked. */
  open(): void;
}

/** The destination of the first packet. */
export function target({ via, to, port }: Probe): { address: Address; port: number } {
  return via ?? { address: to, port: port ?? 0 };
}

function endpointKey({ to, port }: Flow): string {
  return `${to} ${port}`;
}

/** The attempts by where they end, so that one listener serves them all. */
export function byEndpoint(attempts: readonly Attempt[]): Map<string, Attempt[]> {
  return Map.groupBy(attempts, ({ probe }) => endpointKey(probe));
}

/** Something other than a policy prevented the attempt: the laboratory is broken, and no verdict can be trusted. */
export class ProbeError extends Error {
  override readonly name = 'ProbeError';

  constructor({ from, to, port, protocol }: Probe, why: string) {
    super(`probe ${from} -> ${to} ${protocol}${port === undefined ? '' : ` port ${port}`}: ${why}`);
  }
}

/** Binds a socket that answers at the end of the probe. Throws ProbeError if another socket answers there. */
export function bindEnd(fd: Fd, probe: Probe): void {
  try {
    bind(fd, socketAddress(probe.to, probe.port ?? 0));
  } catch (error) {
    const isTaken = error instanceof SystemError && error.code === 'EADDRINUSE';
    throw isTaken ? new ProbeError(probe, 'another process listens there') : error;
  }
}
