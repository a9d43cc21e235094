/** Every policy, by tier: whom it selects, and whom each of its rules means. */
import { computed } from '@preact/signals';
import type { PolicyView, Rule } from '../core/protocol.ts';
import { overview } from '../state/manifests.ts';
import { POLICY_PART } from '../state/place.ts';
import { filter, passes } from '../state/view.ts';
import { Part } from './part.tsx';
import { PlaceButton } from './snippet.tsx';

const shown = computed(() =>
  (overview.value?.policies ?? []).filter(({ id, selects }) =>
    passes(`${id} ${selects.join(' ')}`, filter.value),
  ),
);

const TIERS = { admin: 'Admin', networkpolicy: 'NetworkPolicy', baseline: 'Baseline' } as const;
const MOST_SHOWN = 300;

export function Policies() {
  const all = shown.value;
  if (overview.value === undefined) return <p class="empty">The policies are being read.</p>;
  if (all.length === 0)
    return <p class="empty">There is no policy{filter.value === '' ? '' : ' of this name'}.</p>;
  return (
    <div class="policies">
      {(Object.keys(TIERS) as (keyof typeof TIERS)[]).map(tier => {
        const own = all.filter(policy => policy.tier === tier);
        if (own.length === 0) return null;
        return (
          <section key={tier}>
            <h2>
              {TIERS[tier]} <small>{own.length}</small>
            </h2>
            {own.slice(0, MOST_SHOWN).map(policy => (
              <PolicyBox key={policy.id} policy={policy} />
            ))}
            {own.length > MOST_SHOWN && (
              <p class="hint">and {own.length - MOST_SHOWN} more: filter by name</p>
            )}
          </section>
        );
      })}
    </div>
  );
}

function PolicyBox({ policy }: { readonly policy: PolicyView }) {
  const { id, kind, name, audited, order, tier, subject, selects, ingress, egress, place } = policy;
  return (
    <Part class="policy" name={`${POLICY_PART}${id}`}>
      <summary>
        <b>{name}</b>{' '}
        <small>
          {kind}
          {tier !== 'networkpolicy' && kind !== 'BaselineAdminNetworkPolicy' && `, priority ${order}`}
        </small>
        {audited && <span class="tag">◦ audited</span>}
        <span class="means">{selects.length === 0 ? 'selects nobody' : `selects ${selects.length}`}</span>
      </summary>
      <p>
        Selects {subject}: <Names names={selects} /> <PlaceButton place={place} />
      </p>
      <Direction title="Ingress" rules={ingress} isolates={tier === 'networkpolicy'} id={id} word="from" />
      <Direction title="Egress" rules={egress} isolates={tier === 'networkpolicy'} id={id} word="to" />
    </Part>
  );
}

interface DirectionProps {
  readonly title: string;
  readonly rules: readonly Rule[] | undefined;
  readonly isolates: boolean;
  readonly id: string;
  readonly word: string;
}

const VERBS = { accept: 'allows', deny: 'denies', pass: 'leaves to the next tier' } as const;

function Direction({ title, rules, isolates, id, word }: DirectionProps) {
  if (rules === undefined) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="rules">
        {rules.map(({ path, name, action, peers, whom, ports }) => (
          <li key={`${id} ${path}`} data-action={action}>
            <code>{path}</code> {name !== undefined && <q>{name}</q>} {VERBS[action]} {word}{' '}
            {peers.join(', ') || 'nobody'} on {ports.join(', ') || 'no port'}
            {whom.length > 0 && (
              <>
                : <Names names={whom} />
              </>
            )}
          </li>
        ))}
        {isolates && (
          <li data-action="deny">
            {rules.length === 0
              ? 'allows nothing'
              : 'what no rule allows is denied, unless another policy allows it'}
          </li>
        )}
      </ul>
    </>
  );
}

const MOST_NAMES = 12;

function Names({ names }: { readonly names: readonly string[] }) {
  const short = names.map(name => name.replace(/^\S+ /, ''));
  if (names.length === 0) return <i>nobody</i>;
  return (
    <>
      {short.slice(0, MOST_NAMES).join(', ')}
      {short.length > MOST_NAMES && ` and ${short.length - MOST_NAMES} more`}
    </>
  );
}
