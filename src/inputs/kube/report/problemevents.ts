import type { Timing } from '../../../lib/async/timing.ts';
import { getOrMake } from '../../../lib/collections/getormake.ts';
import { type ObjectReference, type Problem, problemNote } from '../../../model/problem.ts';
import { type EventSpec, eventName } from './event.ts';
import type { EventRecorder } from './eventrecorder.ts';

/** One policy may be wrong in a thousand places; its author gets these, and the rest by `sluice check`. */
const MOST_OF_ONE_OBJECT = 20;

/**
 * How often lasting problems are posted again, because a server deletes Events after an hour. A few randomly chosen
 * nodes of a cluster do it.
 */
const AGAIN = { everyMs: 20 * 60_000, nodes: 3 };

/** Makes Events of the problems of policies: one when a problem begins, none when it ends. */
export class ProblemEvents {
  readonly #recorder: Pick<EventRecorder, 'post' | 'withdraw'>;
  readonly #complete: (about: ObjectReference) => ObjectReference;
  /** The present problems by name, without those that the queue of Events dropped: these are posted again. */
  #reported: ReadonlyMap<string, EventSpec> = new Map();

  /** `complete` finds the server's object for a reference that has only a name. */
  constructor(
    recorder: Pick<EventRecorder, 'post' | 'withdraw'>,
    complete: (about: ObjectReference) => ObjectReference = about => about,
  ) {
    this.#recorder = recorder;
    this.#complete = complete;
  }

  /** Everything that is wrong now. */
  report(problems: readonly Problem[]): void {
    const specs = new Map(problemSpecs(problems, this.#complete).map(spec => [nameOf(spec), spec]));
    for (const name of this.#reported.keys()) if (!specs.has(name)) this.#recorder.withdraw(name);
    const waits = ([name, spec]: [string, EventSpec]) =>
      this.#reported.has(name) || this.#recorder.post(spec);
    this.#reported = new Map([...specs].filter(waits));
  }

  /** Posts lasting problems again and again until the signal; `nodes` is the number of agents that do. */
  async repeat(timing: Timing, nodes: () => number, signal: AbortSignal): Promise<void> {
    for (;;) {
      await timing.sleep(AGAIN.everyMs * (0.5 + timing.random()), signal);
      if (signal.aborted) return;
      for (const spec of this.#reported.values())
        if (timing.random() * nodes() < AGAIN.nodes) this.#recorder.post(spec);
    }
  }
}

/** The Events for the authors of these policies. */
export function problemSpecs(
  problems: readonly Problem[],
  complete: (about: ObjectReference) => ObjectReference = about => about,
): readonly EventSpec[] {
  const counts = new Map<ObjectReference, number>();
  return problems.flatMap(problem => {
    if (problem.about === undefined) return [];
    const count = (counts.get(problem.about) ?? 0) + 1;
    counts.set(problem.about, count);
    return count > MOST_OF_ONE_OBJECT ? [] : [problemSpec(problem, complete(problem.about))];
  });
}

/** Made once: of ten thousand problems one changes. */
const specs = new WeakMap<Problem, EventSpec>();
const names = new WeakMap<EventSpec, string>();

function nameOf(spec: EventSpec): string {
  return getOrMake(names, spec, () => eventName(spec));
}

function problemSpec(problem: Problem, about: ObjectReference): EventSpec {
  return getOrMake(specs, problem, () => makeSpec(problem, about));
}

function makeSpec(problem: Problem, about: ObjectReference): EventSpec {
  const reason = problem.severity === 'error' ? 'InvalidPolicy' : 'DoubtfulPolicy';
  return { about, type: 'Warning', reason, note: problemNote(problem) };
}
