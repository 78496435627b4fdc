import { visible } from '@chancery/protocol'
import type { Signer } from '@chancery/sdk'
import type { JSX } from 'preact'
import { Fact } from '../../components/fact.tsx'
import type { RequestToSign } from '../requests/sign-request.ts'
import { authorityPath, authorityQuery } from '../requests/catalogue.ts'
import { writeLocation } from '../session.ts'
import { Badge } from '../../components/badge.tsx'
import { type Reply, indentJson, isSuccess } from '../requests/send-request.ts'
import { explainReply } from '../requests/explain-reply.ts'

/** Shows everything the signature will cover, before signing. */
export function Review(props: {
  readonly request: RequestToSign
  readonly signer: Signer
  readonly send: (request: RequestToSign, signer: Signer) => void
  readonly back: () => void
}): JSX.Element {
  const { request, signer } = props
  const { operation, network, values, body, audience } = request
  const query = Object.entries(authorityQuery(operation, values)).map(([name, given]) => `${name}=${given.join()}`)
  return (
    <section class="review" aria-label="Review">
      <h3>Will be signed and sent</h3>
      <dl class="facts">
        <Fact name="To the authority of" value={network.name} />
        <Fact name="Its key, pinned and confirmed" value={audience} />
        <Fact
          name="Method and path"
          value={visible(`${operation.method} ${authorityPath(operation, values)}`, { keepLineBreaks: true })}
        />
        <Fact name="Query" value={visible(query.join(', '), { keepLineBreaks: true }) || 'none'} />
        <Fact name="Signed by" value={signer.keyId} />
      </dl>
      {body === undefined ? null : <pre tabIndex={0}>{visible(body, { keepLineBreaks: true })}</pre>}
      {network.admin_signature_version === 1 ? (
        <p class="banner watch">
          This network requires signatures of version 1. They cover neither the path nor the authority: anyone who sees
          one can use it elsewhere until it expires.
        </p>
      ) : null}
      <p class="actions">
        <button type="button" class="btn seal" onClick={() => props.send(request, signer)}>
          Sign and send
        </button>
        <button type="button" class="btn" onClick={props.back}>
          Back
        </button>
      </p>
    </section>
  )
}

/** Leads from a response to what the audit stored of its request. */
export function FollowLink({ requestId }: { readonly requestId: string | undefined }): JSX.Element | null {
  if (requestId === undefined) return null
  return (
    <p>
      <a class="btn" href={writeLocation('request', requestId)} data-follow>
        Follow this request
      </a>
    </p>
  )
}

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
