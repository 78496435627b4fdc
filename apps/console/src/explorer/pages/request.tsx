import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { Fact } from '../../components/fact.tsx'
import { explainReply } from '../requests/explain-reply.ts'
import { type RequestEvents, loadRequestEvents, toSteps } from '../requests/request-events.ts'
import type { Session } from '../session.ts'
import { writeLocation } from '../view-location.ts'

type Reading =
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'read'; readonly found: RequestEvents }

/** Shows what the audit of the gateway stored of one request of this token. */
export function RequestPage(props: { readonly session: Session; readonly id: string | undefined }): JSX.Element {
  const { id } = props
  const { token } = props.session
  const [text, setText] = useState(id ?? '')
  const [reading, setReading] = useState<Reading>({ kind: 'none' })
  useEffect(() => {
    let isCurrent = true
    setReading({ kind: 'none' })
    if (id === undefined || token === undefined) return undefined
    setText(id)
    void load(id, token).then((next) => isCurrent && setReading(next))
    return () => {
      isCurrent = false
    }
  }, [id, token])
  const open = (event: Event): void => {
    event.preventDefault()
    location.hash = writeLocation('request', text.trim())
  }
  return (
    <>
      <form class="panel" onSubmit={open}>
        <header>
          <h2>Request id</h2>
          <p>It is in every response of the gateway, as X-Request-ID.</p>
        </header>
        <div class="inline-form">
          <input
            class="input mono"
            id="request-id"
            aria-label="Request id"
            autocomplete="off"
            spellcheck={false}
            required
            pattern="[A-Za-z0-9_\-]+"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button class="btn primary">Follow</button>
        </div>
      </form>
      {token === undefined ? <p class="quiet">Enter a token above: each caller sees its own requests only.</p> : null}
      <div aria-live="polite">
        {reading.kind === 'failed' ? <p role="alert">{reading.problem}</p> : null}
        {reading.kind === 'read' ? <Steps found={reading.found} /> : null}
      </div>
    </>
  )
}

async function load(id: string, token: string): Promise<Reading> {
  try {
    const response = await loadRequestEvents(id, token)
    if ('found' in response) return { kind: 'read', found: response.found }
    return { kind: 'failed', problem: explainReply(response.refused)?.sentence ?? 'The gateway refused.' }
  } catch (error) {
    return { kind: 'failed', problem: explain(error) }
  }
}

function Steps({ found }: { readonly found: RequestEvents }): JSX.Element {
  if (!found.durable_audit)
    return (
      <p class="banner watch" data-audit="off">
        This gateway stores no audit. The request is in its log only. GATEWAY_STATE_FILE stores the audit.
      </p>
    )
  const steps = toSteps(found.events)
  if (steps.length === 0)
    return (
      <p class="banner watch" data-audit="none">
        No request of this token with this id is among the newest {found.searched_events} events. «chancery gateway
        audit export» has older ones.
      </p>
    )
  return (
    <ol class="steps" data-steps={steps.length}>
      {steps.map((step, i) => (
        <li key={step.title} class={step.isGood ? 'pass' : 'fail'}>
          <span class="step" aria-hidden="true">
            {i + 1}
          </span>
          <div>
            <h2>
              {step.title} <small>{step.note}</small>
            </h2>
            <dl class="facts">
              {step.facts.map(([name, value]) => (
                <Fact key={name} name={name} value={value} />
              ))}
            </dl>
          </div>
        </li>
      ))}
    </ol>
  )
}
