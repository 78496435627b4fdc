import { visible } from '@chancery/protocol'
import type { JSX } from 'preact'
import { Badge } from '../../components/badge.tsx'
import { Fact } from '../../components/fact.tsx'
import { type Reply, isSuccess } from '../requests/send-request.ts'
import { FollowLink } from './follow-link.tsx'
import { explainReply } from '../requests/explain-reply.ts'
import { indentJson } from '../requests/indent-json.ts'

const SHOWN_CHARACTERS = 200_000

/** Shows one response: its meaning, which service sent it, and its content. */
export function ResponseView({ reply }: { readonly reply: Reply }): JSX.Element {
  const explanation = explainReply(reply)
  const text = reply.text.length > SHOWN_CHARACTERS ? reply.text.slice(0, SHOWN_CHARACTERS) : reply.text
  return (
    <div class="answer" data-status={reply.status}>
      <p>
        <Badge tone={isSuccess(reply) ? 'good' : 'bad'} word={`status ${reply.status}`} />{' '}
        <span class="quiet">in {reply.milliseconds} ms</span>
      </p>
      {explanation === undefined ? null : (
        <p class="banner watch" data-explained={explanation.code}>
          {explanation.sentence}
        </p>
      )}
      <dl class="facts">
        {explanation === undefined ? null : <Fact name="Response from" value={`the ${explanation.by}`} />}
        <Fact name="Request id, gateway" value={reply.requestId ?? 'none'} />
        <Fact name="Request id, authority" value={reply.upstreamRequestId ?? 'none'} />
      </dl>
      <FollowLink requestId={reply.requestId} />
      {text.length < reply.text.length ? (
        <p class="quiet">
          The first {SHOWN_CHARACTERS} of {reply.text.length} characters:
        </p>
      ) : null}
      <pre tabIndex={0}>
        {visible(text.length < reply.text.length ? text : indentJson(text), { keepLineBreaks: true })}
      </pre>
    </div>
  )
}
