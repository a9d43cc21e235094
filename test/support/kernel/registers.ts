/**
 * Which registers a rule has loaded. What is in others means nothing that can be foretold: kernels that keep count refuse
 * a rule that reads them (ENODATA), older ones compare what the rule before left there.
 */
import { paddedBytes, paddedLength } from '../../../src/nft/fieldbytes.ts';
import type { Expr, Register, SetSpec } from '../../../src/nft/ruleset.ts';

const REGISTER_BYTES = 4;
/** IFNAMSIZ. */
const INTERFACE_KIND_BYTES = 16;
const ADDRESS_BYTES = { ip: 4, ip6: 16 } as const;

export class LoadedRegisters {
  readonly #loaded = new Set<Register>();

  /**
   * Checks the register that the expression reads, and records the one that it loads; `set` is the set that it names.
   */
  follow(expr: Expr, set?: SetSpec): void {
    for (const { at, bytes } of read(expr, set)) this.#demand(expr, at, bytes);
    const loaded = written(expr, set);
    if (loaded !== undefined) for (const register of registers(loaded)) this.#loaded.add(register);
  }

  #demand({ kind }: Expr, at: Register, bytes: number): void {
    for (const register of registers({ at, bytes }))
      if (!this.#loaded.has(register))
        throw new TypeError(
          `${kind} reads ${bytes} bytes at register ${at}: register ${register} was not loaded`,
        );
  }
}

interface Span {
  readonly at: Register;
  readonly bytes: number;
}

function registers({ at, bytes }: Span): Register[] {
  return Array.from({ length: Math.ceil(bytes / REGISTER_BYTES) }, (_, i) => at + i);
}

function read(expr: Expr, set: SetSpec | undefined): Span[] {
  switch (expr.kind) {
    case 'bitwise':
      return [{ at: expr.sreg, bytes: expr.mask.length / 2 }];
    case 'cmp':
      return [{ at: expr.sreg, bytes: expr.data.length / 2 }];
    case 'lookup':
    case 'dynset':
      return [{ at: expr.sreg, bytes: paddedLength(set!.key) }];
    case 'nat':
      return [
        { at: expr.address, bytes: ADDRESS_BYTES[expr.family] },
        { at: expr.port, bytes: paddedBytes('inet_service') },
      ];
    default:
      return [];
  }
}

function written(expr: Expr, set: SetSpec | undefined): Span | undefined {
  switch (expr.kind) {
    case 'meta':
      return { at: expr.dreg, bytes: expr.key === 'iifkind' ? INTERFACE_KIND_BYTES : REGISTER_BYTES };
    case 'ct':
      return { at: expr.dreg, bytes: expr.key.includes(' ip6 ') ? ADDRESS_BYTES.ip6 : REGISTER_BYTES };
    case 'fib':
    case 'exthdr':
      return { at: expr.dreg, bytes: REGISTER_BYTES };
    case 'payload':
      return { at: expr.dreg, bytes: expr.length };
    case 'bitwise':
      return { at: expr.dreg, bytes: expr.mask.length / 2 };
    case 'lookup':
      return expr.dreg === undefined ? undefined : { at: expr.dreg, bytes: paddedLength(set!.data ?? []) };
    default:
      return undefined;
  }
}
