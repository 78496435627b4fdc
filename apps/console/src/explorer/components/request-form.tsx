import { writeJson, readJson } from '@chancery/protocol'
import type { Signer } from '@chancery/sdk'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { Badge } from '../../components/badge.tsx'
import { type Reply, isSuccess, sendRequest } from '../requests/send-request.ts'
import type { Operation } from '../requests/catalogue.ts'
import { freshExample } from '../requests/example-body.ts'
import { indentJson } from '../requests/indent-json.ts'
import { coveredBy, findAudience, newSigningTime, readBody, signRequest } from '../requests/sign-request.ts'
import type { RequestToSign } from '../requests/sign-request.ts'
import { findRefusal } from '../requests/token-info.ts'
import { type Values, findMissing, gatewayTarget } from '../requests/target.ts'
import { type Draft, type Session, networkOf } from '../session.ts'
import { ResponseView } from './response-view.tsx'
import { RequestFields } from './request-fields.tsx'
import { Review } from './review.tsx'
import { SignatureChoice, type SigningMethod } from './signature-choice.tsx'

type FormStep =
  | { readonly kind: 'writing'; readonly problem?: string }
  | { readonly kind: 'busy' }
  | { readonly kind: 'review'; readonly request: RequestToSign }

interface Props {
  readonly operation: Operation
  readonly session: Session
  readonly setSession: (change: (current: Session) => Session) => void
  readonly draft: Draft | undefined
}

/**
 * The form of one operation and its response. The reader reviews what is signed first; any change removes the review.
 */
// oxlint-disable-next-line max-lines-per-function -- the state of one form and its markup
export function RequestForm({ operation, session, setSession, draft }: Props): JSX.Element {
  const network = operation.isOwn ? undefined : networkOf(session)
  const [values, setValues] = useState<Values>({})
  const [body, setBody] = useState(() => firstBody(operation, draft))
  const [method, setMethod] = useState<SigningMethod>({ kind: 'key' })
  const [step, setStep] = useState<FormStep>({ kind: 'writing' })
  const [reply, setReply] = useState<Reply>()
  // Another network has other operators, so a review and pasted headers are no longer valid.
  useEffect(() => {
    writing.current += 1
    setStep({ kind: 'writing' })
    setMethod((current) => (current.kind === 'pasted' ? { kind: 'pasted' } : current))
  }, [session.networkName])
  useEffect(() => {
    if (draft !== undefined) change(() => setBody(draft.body))
  }, [draft])

  const refusal = findRefusal(operation, session.tokenInfo, network)
  const covered = coveredBy(operation, network?.name ?? '', values, body)
  /** Counts edits: a review of an earlier text is dropped. */
  const writing = useRef(0)
  const attempt = async (work: () => Promise<FormStep>): Promise<void> => {
    setStep({ kind: 'busy' })
    const begun = writing.current
    const reached = await work().catch((error: unknown): FormStep => ({ kind: 'writing', problem: explain(error) }))
    // The result of a sent request is always shown.
    if (reached.kind !== 'review' || begun === writing.current) setStep(reached)
  }
  /** Sends the given request: after a review this is the reviewed text, not the current text of the form. */
  const send = async (
    sent: Pick<RequestToSign, 'values' | 'body'> & { readonly network: { readonly name: string } | undefined },
    headers: Readonly<Record<string, string>>,
  ): Promise<FormStep> => {
    setReply(undefined)
    const target = gatewayTarget(operation, sent.network?.name, sent.values)
    const token = operation.needsToken ? session.token : undefined
    const response = await sendRequest({ method: operation.method, target, token, body: sent.body, headers })
    setReply(response)
    if (isSuccess(response))
      // A response to an earlier token must not be shown under the next one.
      setSession((current) =>
        current.number === session.number ? { ...current, lastResponse: response.text } : current,
      )
    return { kind: 'writing' }
  }
  const prepare = async (): Promise<FormStep> => {
    const missing = findMissing(operation, values)
    if (missing !== undefined) throw new Error(`${missing} is part of the path and must be given.`)
    if (body !== undefined) readBody(body)
    if (!operation.needsSignature) return send({ network, values, body }, {})
    if (method.kind === 'pasted') {
      const headers = readPasted(method, covered)
      setMethod({ kind: 'pasted', isSpent: true })
      return send({ network, values, body }, headers)
    }
    if (session.signer === undefined) throw new Error('Give a key first, or paste headers that were signed elsewhere.')
    if (network === undefined || session.token === undefined) throw new Error('Choose a network first.')
    const audience = await findAudience(network, session.token)
    return { kind: 'review', request: { operation, network, values, body, audience } }
  }
  const sign = (request: RequestToSign, signer: Signer): void =>
    void attempt(async () => send(request, await signRequest(request, signer, newSigningTime())))
  const change = (apply: () => void): void => {
    writing.current += 1
    apply()
    setStep({ kind: 'writing' })
  }
  return (
    <article class="panel request-form" aria-label={operation.name} data-operation={operation.id}>
      <Heading operation={operation} />
      {refusal === undefined ? null : (
        <p class="banner watch" data-refused>
          {refusal}
        </p>
      )}
      {operation.needsSignature ? (
        <SignatureChoice
          key={network?.name ?? ''}
          method={method}
          setMethod={(next) => change(() => setMethod(next))}
          covered={covered}
          signer={session.signer}
          keyNote={session.keyNote}
          setSigner={(signer) => change(() => setSession((current) => ({ ...current, signer, keyNote: undefined })))}
        />
      ) : null}
      <form
        class="try"
        onSubmit={(event) => {
          event.preventDefault()
          void attempt(prepare)
        }}
      >
        <RequestFields
          operation={operation}
          values={values}
          setValues={(next) => change(() => setValues(next))}
          body={body}
          setBody={(next) => change(() => setBody(next))}
          insert={
            session.lastResponse === undefined
              ? undefined
              : (member) => change(() => setBody(insertResponse(body ?? '{}', member, session.lastResponse ?? 'null')))
          }
        />
        <button class="btn primary" disabled={refusal !== undefined || step.kind === 'busy'}>
          {buttonText(operation, method)}
        </button>
        {step.kind === 'writing' && step.problem !== undefined ? <p role="alert">{step.problem}</p> : null}
      </form>
      {step.kind === 'review' && session.signer !== undefined ? (
        <Review request={step.request} signer={session.signer} send={sign} back={() => setStep({ kind: 'writing' })} />
      ) : null}
      <div aria-live="polite">
        {step.kind === 'busy' ? <p class="quiet">Asking…</p> : null}
        {reply === undefined ? null : <ResponseView reply={reply} />}
      </div>
    </article>
  )
}

function Heading({ operation }: { readonly operation: Operation }): JSX.Element {
  const { name, id, isOwn, method, path, description, needsSignature, tier, isIdempotent } = operation
  return (
    <header>
      <h2>{isOwn ? path : name}</h2>
      <p>
        <span class={`method method-${method.toLowerCase()}`}>{method}</span> <code>{path}</code>
      </p>
      {isOwn ? null : (
        <p class="quiet">
          <code>{id}</code>
        </p>
      )}
      <p>{description}</p>
      <p class="badges">
        {needsSignature ? <Badge tone="watch" word={`operator-signed, ${tier ?? ''} tier`} /> : null}{' '}
        {isIdempotent ? <Badge tone="good" word="safe to repeat" /> : <Badge tone="ended" word="acts once per call" />}
      </p>
    </header>
  )
}

function buttonText({ needsSignature, method }: Operation, signing: SigningMethod): string {
  if (!needsSignature) return `Send ${method}`
  return signing.kind === 'pasted' ? 'Send with the pasted headers' : 'Review what will be signed'
}

function firstBody({ body }: Operation, draft: Draft | undefined): string | undefined {
  return draft?.body ?? (body === undefined ? undefined : freshExample(body, Date.now()))
}

/** Numbers keep their spelling, because the response may be a signed record. */
function insertResponse(body: string, member: string, response: string): string {
  return indentJson(writeJson({ ...readBody(body), [member]: readJson(response) }))
}

/** Headers are valid for one request. With another request they are refused and their nonce is used up. */
function readPasted(method: SigningMethod, covered: string): Readonly<Record<string, string>> {
  if (method.kind !== 'pasted' || method.headers === undefined) throw new Error('Paste the four X-Admin headers first.')
  if (method.covers !== covered)
    throw new Error(
      'The request changed after the headers were pasted. Sign the request again and paste the new headers.',
    )
  return method.headers
}
