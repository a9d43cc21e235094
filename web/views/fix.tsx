/** The smallest policy that turns the verdict, as a button, and what else it would open or close. */
import type { Explanation, Fixed } from '../core/protocol.ts';
import { addText } from '../state/edits.ts';
import { fixed, propose, type Reply } from '../state/question.ts';
import { copyText } from '../state/save.ts';
import { StopButton } from './stopbutton.tsx';

export function FixButtons({ answer: { verdict } }: { readonly answer: Explanation }) {
  const wanted = verdict === 'allow' ? 'deny' : 'allow';
  if (verdict === 'undecided') return null;
  return (
    <div class="fix" tabIndex={-1}>
      <FixReply reply={fixed.value} wanted={wanted} />
    </div>
  );
}

interface FixReplyProps {
  readonly reply: Reply<Fixed> | undefined;
  readonly wanted: 'allow' | 'deny';
}

function FixReply({ reply, wanted }: FixReplyProps) {
  if (reply === undefined) return <ProposeButton wanted={wanted} />;
  if (reply.kind === 'asked')
    return (
      <p role="status">
        Looking for the smallest policy… <StopButton />
      </p>
    );
  if (reply.kind === 'failed') return <p role="alert">{reply.why}</p>;
  const { none, yaml, also } = reply.answer;
  return yaml === undefined ? (
    <p role="status">No policy to propose: {none}.</p>
  ) : (
    <Proposal yaml={yaml.verbatim} also={also} wanted={wanted} />
  );
}

function ProposeButton({ wanted }: { readonly wanted: 'allow' | 'deny' }) {
  return (
    <button
      type="button"
      onClick={({ currentTarget }) => {
        // The button goes away, and with it the focus.
        currentTarget.parentElement?.focus();
        void propose();
      }}
    >
      Propose the smallest policy that {wanted === 'allow' ? 'allows' : 'denies'} it
    </button>
  );
}

const MOST_ALSO = 10;

function Proposal({
  yaml,
  also,
  wanted,
}: {
  readonly yaml: string;
  readonly also: readonly string[];
  readonly wanted: string;
}) {
  return (
    <>
      <p>
        To {wanted} it, apply this. Pods that get the same labels later are meant too.{' '}
        {also.length === 0
          ? `It ${wanted === 'allow' ? 'opens' : 'closes'} nothing else of what is there now.`
          : `It also ${wanted === 'allow' ? 'opens' : 'closes'}:`}
      </p>
      {also.length > 0 && (
        <ul>
          {also.slice(0, MOST_ALSO).map(each => (
            <li key={each}>{each}</li>
          ))}
          {also.length > MOST_ALSO && <li>and {also.length - MOST_ALSO} more</li>}
        </ul>
      )}
      <pre tabIndex={0}>{yaml}</pre>
      <button type="button" onClick={() => addText('proposed.yaml', yaml)}>
        Add it to the manifests
      </button>{' '}
      <button type="button" class="quiet" onClick={() => void copyText(yaml)}>
        Copy
      </button>
    </>
  );
}
