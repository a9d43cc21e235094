/** Combines questions: those that are asked while others are being answered are answered together in the next round. */
export class Coalescer<Q, A> {
  readonly #answer: (questions: readonly Q[]) => Promise<readonly (A | Error)[]>;
  #waiting: { readonly question: Q; readonly settle: (answer: A | Error) => void }[] = [];
  #busy = false;

  /** `answer` gives an answer for each question, in order. If it throws, each question is rejected with that error. */
  constructor(answer: (questions: readonly Q[]) => Promise<readonly (A | Error)[]>) {
    this.#answer = answer;
  }

  /** The answer is computed after this call begins, never before. */
  ask(question: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      const settle = (answer: A | Error) => (answer instanceof Error ? reject(answer) : resolve(answer));
      this.#waiting.push({ question, settle });
      if (!this.#busy) void this.#rounds();
    });
  }

  async #rounds(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0) {
      const round = this.#waiting;
      this.#waiting = [];
      const answers = await this.#answer(round.map(({ question }) => question)).catch((error: Error) =>
        round.map(() => error),
      );
      for (const [index, { settle }] of round.entries()) settle(answers[index]!);
    }
    this.#busy = false;
  }
}
