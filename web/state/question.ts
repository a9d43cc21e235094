/** The connection that is asked about, what the worker says of it, and the policy that it proposes. */
import { effect, signal, untracked } from '@preact/signals';
import type { Asked, Explained, Fixed } from '../core/protocol.ts';
import { ask, MOMENT_MS, model } from './manifests.ts';
import { isProposing, rowsByKey, selected } from './view.ts';

export type Reply<T> =
  | { readonly kind: 'asked' }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'answered'; readonly answer: T };

/** Undefined where nothing is asked, or of an end that is not in the manifests. */
export const explained = signal<Reply<Explained> | undefined>(undefined);
/** Undefined until it is wanted. */
export const fixed = signal<Reply<Fixed> | undefined>(undefined);

let run = 0;

/** Asks anew where another connection is chosen, and where the manifests are edited. */
export function startExplaining(): void {
  effect(() => {
    const asked = askedNow();
    run++;
    fixed.value = undefined;
    // What is proposed is of the question and the manifests of before; a link asks for it with its first answer.
    if (explained.peek()?.kind === 'answered') isProposing.value = false;
    if (asked === undefined || model.value === undefined) explained.value = undefined;
    else untracked(() => void explain(asked));
  });
}

function askedNow(): Asked | undefined {
  const chosen = selected.value;
  if (chosen === undefined) return undefined;
  const [from, to] = [rowsByKey.value.get(chosen.from), rowsByKey.value.get(chosen.to)];
  if (from === undefined || to === undefined) return undefined;
  const { port, protocol } = chosen;
  return { from, to, ...(port !== undefined && { port }), ...(protocol !== undefined && { protocol }) };
}

/** The answer of before stays for a moment, so that nothing flickers. */
async function explain(asked: Asked): Promise<void> {
  const own = run;
  const isCurrent = () => own === run;
  const showAsked = () => {
    if (isCurrent()) explained.value = { kind: 'asked' };
  };
  if (explained.peek()?.kind !== 'answered') showAsked();
  const moment = setTimeout(showAsked, MOMENT_MS);
  const reply = await replyOf(ask('explain', asked));
  clearTimeout(moment);
  if (!isCurrent()) return;
  explained.value = reply;
  if (isProposing.value) await propose();
}

/** The policy that turns the verdict. */
export async function propose(): Promise<void> {
  const [asked, reply] = [askedNow(), explained.peek()];
  if (asked === undefined || reply?.kind !== 'answered') return;
  const { answer } = reply.answer;
  if ('error' in answer || answer.verdict === 'undecided') return;
  const wanted = answer.verdict === 'allow' ? 'deny' : 'allow';
  isProposing.value = true;
  const own = run;
  fixed.value = { kind: 'asked' };
  const proposed = await replyOf(ask('fix', asked, wanted));
  if (own === run) fixed.value = proposed;
}

async function replyOf<T>(answer: Promise<T>): Promise<Reply<T>> {
  try {
    return { kind: 'answered', answer: await answer };
  } catch (error) {
    return { kind: 'failed', why: (error as Error).message };
  }
}
