/** Ways from outside, by load balancers and ingress controllers. Policy judges each step, which is a button that explains it. */
import type { Way, WayStep } from '../core/protocol.ts';
import { model } from '../state/manifests.ts';
import { select } from '../state/view.ts';

export const VERDICTS = { allow: '✓ allowed', deny: '✕ denied', undecided: '? undecided' } as const;

export const WAYS = 'From outside, by Services, Ingresses and routes';

export function Ways({ ways }: { readonly ways: readonly Way[] }) {
  if (ways.length === 0) return null;
  return (
    <section class="ways">
      <h3>{WAYS}</h3>
      <WayList ways={ways} />
    </section>
  );
}

const MOST_SHOWN = 100;

export function WayList({ ways }: { readonly ways: readonly Way[] }) {
  return (
    <ul class="way-list">
      {ways.slice(0, MOST_SHOWN).map(way => (
        <WayLine
          key={`${way.objects[0]} ${way.to} ${way.steps.map(({ from, port }) => `${from} ${port}`)}`}
          way={way}
        />
      ))}
      {ways.length > MOST_SHOWN && <li>and {ways.length - MOST_SHOWN} more</li>}
    </ul>
  );
}

const MOST_OBJECTS = 5;

function WayLine({ way: { objects, to, verdict, isAssumed, steps } }: { readonly way: Way }) {
  const more = objects.length - MOST_OBJECTS;
  return (
    <li class="way" data-verdict={verdict}>
      <b data-verdict={verdict}>{VERDICTS[verdict]}</b> {short(to)}{' '}
      <small>
        by {objects.slice(0, MOST_OBJECTS).join(', ')}
        {more > 0 && ` and ${more} more`}
      </small>
      <ol>
        {steps.map(step => (
          <li key={step.from}>
            <Step step={step} isAssumed={isAssumed === true} />
          </li>
        ))}
      </ol>
    </li>
  );
}

const WORDS = { allow: 'allowed', deny: 'denied', undecided: 'undecided' } as const;

/** A controller that is assumed has no line in the matrix: nothing more is known of it. */
function Step({ step, isAssumed }: { readonly step: WayStep; readonly isAssumed: boolean }) {
  const { from, to, port, protocol, verdict, isPartial, reason } = step;
  const rows = model.value?.rows ?? [];
  const [source, target] = [from, to].map(member => rows.find(row => row.member === member));
  const text = `${short(from)} → ${short(to)}:${port}${protocol === 'TCP' ? '' : `/${protocol}`}`;
  return (
    <>
      {source !== undefined && target !== undefined && !isAssumed ? (
        <button
          type="button"
          class="quiet"
          onClick={() => select(source, target, { port: String(port), protocol })}
        >
          {text}
        </button>
      ) : (
        text
      )}{' '}
      {isAssumed && '(the controller is assumed) '}
      {WORDS[verdict]}
      {isPartial && ' in part'}
      {verdict !== 'allow' && `: ${reason}`}
    </>
  );
}

/** `Deployment shop/web` → `shop/web`. */
function short(member: string): string {
  return member.replace(/^[A-Z]\S* /, '');
}
