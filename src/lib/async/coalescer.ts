/** Questions that are answered together: those that come while an answer is sought are the next round's. */
export class Coalescer<Q, A> {
  readonly #answer: (questions: readonly Q[]) => Promise<readonly (A | Error)[]>;
  #waiting: { readonly question: Q; readonly settle: (answer: A | Error) => void }[] = [];
  #busy = false;

  /** `answer` gives each question its own answer, in order, or throws what becomes the answer of all. */
  constructor(answer: (questions: readonly Q[]) => Promise<readonly (A | Error)[]>) {
    this.#answer = answer;
  }

  /** Begins after the call. */
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
