/** The walk of one direction through the tiers, with the lines of the manifests that decide, and what nearly matched. */
import type { DirectionShown, Explained, Explanation, Stop } from '../core/protocol.ts';
import { STOP_PART } from '../state/view.ts';
import { Part } from './part.tsx';
import { PlaceButton, Snippet } from './snippet.tsx';

interface DirectionProps {
  readonly title: string;
  readonly of: DirectionShown;
  readonly now: Explained;
  readonly answer: Explanation;
  readonly which: 'egress' | 'ingress';
}

const TIERS = { admin: 'Admin', networkpolicy: 'NetworkPolicy', baseline: 'Baseline' } as const;

export function Walk({ title, of: { verdict, reason, stops, pod }, now, answer, which }: DirectionProps) {
  const nearly = answer.nearly.filter(({ direction }) => direction === which);
  return (
    <section class="walk">
      <h3 data-verdict={verdict}>
        <span aria-hidden="true">{verdict === 'allow' ? '●' : '■'}</span> {title}{' '}
        <small>{verdict === 'allow' ? 'allowed' : 'denied'}</small>
      </h3>
      {(pod === undefined || stops.length === 0) && <p class="hint">{reason}</p>}
      {(Object.keys(TIERS) as (keyof typeof TIERS)[]).map(tier => {
        const own = stops.filter(stop => stop.tier === tier);
        return own.length === 0 ? null : (
          <Tier key={tier} title={TIERS[tier]} stops={own} now={now} verdict={verdict} />
        );
      })}
      {nearly.map(({ policy, rule, needs }) => (
        <p class="nearly" key={`${policy} ${rule}`}>
          <b>Nearly:</b> {policy} {rule} would match if {needs.join(', and ')}.{' '}
          <PlaceButton place={now.places[`${policy} ${rule}`] ?? {}} />
        </p>
      ))}
    </section>
  );
}

const MOST_STOPS = 30;

function Tier({
  title,
  stops,
  now,
  verdict,
}: {
  readonly title: string;
  readonly stops: readonly Stop[];
  readonly now: Explained;
  readonly verdict: 'allow' | 'deny';
}) {
  const decider =
    stops.find(({ part }) => part === 'decided') ??
    (verdict === 'deny' ? stops.find(({ says }) => says === 'isolates') : undefined);
  return (
    <>
      <h4>{title}</h4>
      {stops.slice(0, MOST_STOPS).map(stop => (
        <StopLine key={stop.policy} stop={stop} now={now} isOpen={stop === decider} verdict={verdict} />
      ))}
      {stops.length > MOST_STOPS && <p class="hint">and {stops.length - MOST_STOPS} more</p>}
    </>
  );
}

const PARTS: Record<Stop['part'], string> = {
  decided: 'decided',
  passed: 'passed to the next tier',
  'same-verdict': 'same verdict',
  overridden: 'overridden',
  'no-match': 'no match',
};

function StopLine({
  stop,
  now,
  isOpen,
  verdict,
}: {
  readonly stop: Stop;
  readonly now: Explained;
  readonly isOpen: boolean;
  readonly verdict: 'allow' | 'deny';
}) {
  const { policy, rule, part, says, text, by } = stop;
  const place = now.places[`${policy} ${rule ?? ''}`];
  const what =
    part === 'decided' && says === 'isolates' ? 'selects the pod, and no rule allows this' : PARTS[part];
  return (
    <Part
      class="stop"
      name={`${STOP_PART}${policy} ${rule ?? ''}`}
      isOpen={isOpen}
      data-part={part}
      data-verdict={isOpen ? verdict : undefined}
    >
      <summary>
        <b>{policy.replace(/^\S+ /, '')}</b> {rule !== undefined && <code>{rule}</code>}
        <span class="part">
          {what}
          {by !== undefined && ` by ${by}`}
        </span>
      </summary>
      {text !== undefined && <p class="hint">{text}</p>}
      {place !== undefined && <Snippet place={place} verdict={verdict} isDeciding={isOpen} />}
    </Part>
  );
}
