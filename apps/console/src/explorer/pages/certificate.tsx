import { GATEWAY_ROUTES } from '@chancery/contract'
import type { TrustDecision } from '@chancery/protocol'
import { useRef, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { Fact } from '../../components/fact.tsx'
import { State } from '../../operator/parts/state.tsx'
import { FollowLink } from '../components/follow-link.tsx'
import { explainReply } from '../requests/explain-reply.ts'
import { type Reply, isSuccess, sendRequest } from '../requests/send-request.ts'
import { readBody } from '../requests/sign-request.ts'
import type { Session } from '../session.ts'

type Outcome = { readonly problem: string } | { readonly reply: Reply }

/** Verifies a pasted join certificate. The text is sent as it was pasted, because signatures cover it. */
export function CertificatePage({ session }: { readonly session: Session }): JSX.Element {
  const [text, setText] = useState('')
  const [outcome, setOutcome] = useState<Outcome>()
  const current = useRef(text)
  current.current = text
  const verify = async (event: Event): Promise<void> => {
    event.preventDefault()
    const answered = await ask(text, session.token)
    // An answer about a former text is dropped.
    if (current.current === text) setOutcome(answered)
  }
  return (
    <>
      <form class="panel" onSubmit={(event) => void verify(event)}>
        <header>
          <h2>Join certificate</h2>
        </header>
        <div class="body stack">
          <div class="field">
            <label for="certificate">Paste the certificate as JSON</label>
            <textarea
              class="input"
              id="certificate"
              rows={10}
              spellcheck={false}
              required
              value={text}
              onInput={(event) => {
                setText(event.currentTarget.value)
                setOutcome(undefined)
              }}
            />
            <span class="hint">
              It holds no secret. The gateway verifies it with its pinned keys and current lists.
            </span>
          </div>
          <p>
            <button class="btn primary" disabled={session.token === undefined}>
              Verify
            </button>
          </p>
          {session.token === undefined ? <p class="quiet">Enter a token above first.</p> : null}
        </div>
      </form>
      <div aria-live="polite">{outcome === undefined ? null : <Shown outcome={outcome} />}</div>
    </>
  )
}

async function ask(text: string, token: string | undefined): Promise<Outcome> {
  try {
    readBody(text)
    const { method, path } = GATEWAY_ROUTES.verify
    return { reply: await sendRequest({ method, target: path, token, body: `{"certificate":${text}}` }) }
  } catch (error) {
    return { problem: explain(error) }
  }
}

function Shown({ outcome }: { readonly outcome: Outcome }): JSX.Element {
  if ('problem' in outcome) return <p role="alert">{outcome.problem}</p>
  const { reply } = outcome
  if (!isSuccess(reply)) return <p role="alert">{explainReply(reply)?.sentence}</p>
  // Page and gateway are of one release, so the response has the type of the protocol.
  const { trusted, reasons, evaluation } = JSON.parse(reply.text) as TrustDecision
  return (
    <section class="panel" data-trusted={String(trusted)}>
      <header>
        <h2>
          {trusted ? (
            <State shape="tick" tone="good" word="Accepted" />
          ) : (
            <State shape="square" tone="bad" word="Not accepted" />
          )}
        </h2>
      </header>
      <div class="body">
        {reasons.length === 0 ? null : (
          <ul class="plain">
            {reasons.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        )}
        <dl class="facts">
          <Fact name="Network" value={evaluation.network} />
          <Fact name="Issuer" value={evaluation.issuer ?? 'unknown'} />
          <Fact name="Revocation list" value={String(evaluation.crl_sequence ?? 'none')} />
          <Fact name="Evaluated" value={evaluation.evaluated_at} />
          <Fact name="Verify again" value={evaluation.recheck_after ?? 'with each use'} />
        </dl>
        <FollowLink requestId={reply.requestId} />
      </div>
    </section>
  )
}
