/**
 * Choices, each a number below a limit, of which 0 means the plainest. They are drawn by a seed and kept, so that the same
 * choices make the same thing again, and with some of them at 0 or left out a simpler one.
 */
export class Draws {
  readonly #given: readonly number[] | undefined;
  readonly #taken: number[] = [];
  readonly #marks: number[] = [];
  #state: number;

  private constructor(state: number, given?: readonly number[]) {
    this.#state = state;
    this.#given = given;
  }

  static ofSeed(seed: number, turn: number): Draws {
    return new Draws(mix(mix(seed) ^ Math.imul(turn, 0x9e3779b9)));
  }

  static of(choices: readonly number[]): Draws {
    return new Draws(0, choices);
  }

  /** What was chosen until now. */
  get taken(): readonly number[] {
    return this.#taken;
  }

  /** Where in it parts begin that can be left out each. */
  get marks(): readonly number[] {
    return this.#marks;
  }

  mark(): void {
    this.#marks.push(this.#taken.length);
  }

  below(limit: number): number {
    const choice =
      this.#given === undefined ? this.#next() % limit : (this.#given[this.#taken.length] ?? 0) % limit;
    this.#taken.push(choice);
    return choice;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  /** Seldom true: once in `times`. */
  once(times: number): boolean {
    return this.below(times) === times - 1;
  }

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    return mix(this.#state);
  }
}

/** A permutation of the numbers of 32 bits (the finalizer of MurmurHash3). */
function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/**
 * The plainest choices that were found for which `fails` still answers true: parts are left out, each choice is made 0 or
 * smaller, and single choices are left out, until nothing of that helps or `fails` was asked as often as it may be.
 */
export async function shrink(
  draws: Draws,
  fails: (draws: Draws) => Promise<boolean>,
  attempts = 200,
): Promise<Draws> {
  let best = draws;
  let left = attempts;
  const accepts = async (choices: readonly number[]): Promise<boolean> => {
    const candidate = Draws.of(choices);
    if (left-- <= 0 || !(await fails(candidate))) return false;
    best = candidate;
    return true;
  };
  for (let before: Draws | undefined; before !== best && left > 0; ) {
    before = best;
    for (let part = best.marks.length - 1; part >= 0; part--) {
      const [from, to] = [best.marks[part]!, best.marks[part + 1] ?? best.taken.length];
      await accepts([...best.taken.slice(0, from), ...best.taken.slice(to)]);
    }
    for (let at = 0; at < best.taken.length; at++) {
      const choice = best.taken[at]!;
      if (choice !== 0 && !(await accepts(best.taken.with(at, 0))) && choice > 1)
        await accepts(best.taken.with(at, choice >> 1));
    }
  }
  return best;
}
