import { visible } from '@chancery/protocol'
import type { Signer } from '@chancery/sdk'
import type { JSX } from 'preact'
import { Fact } from '../../components/fact.tsx'
import type { RequestToSign } from '../requests/sign-request.ts'
import { authorityPath, authorityQuery } from '../requests/target.ts'

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
