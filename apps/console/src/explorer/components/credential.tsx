import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { findMistype } from '../requests/check-token.ts'
import { explainReply } from '../requests/explain-reply.ts'
import { loadStanding } from '../requests/standing.ts'
import type { Standing } from '../requests/standing.ts'
import type { Session } from '../session.ts'
import { Time } from './time.tsx'

/** Who the reader is to the gateway, on every page. */
export function Credential(props: {
  readonly session: Session
  readonly enter: (token: string, standing: Standing) => void
  readonly leave: () => void
  readonly choose: (network: string) => void
}): JSX.Element {
  const { session } = props
  return (
    <section class="credential" aria-label="Token">
      {session.standing === undefined ? (
        <TokenForm enter={props.enter} />
      ) : (
        <Known session={session} standing={session.standing} leave={props.leave} choose={props.choose} />
      )}
    </section>
  )
}

function TokenForm({ enter }: { readonly enter: (token: string, standing: Standing) => void }): JSX.Element {
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault()
    const form = event.currentTarget
    const token = (form.querySelector<HTMLInputElement>('#token')?.value ?? '').trim()
    const mistype = findMistype(token)
    if (mistype !== undefined) {
      setProblem(mistype)
      return
    }
    setProblem('')
    setBusy(true)
    try {
      const answer = await loadStanding(token)
      if ('standing' in answer) {
        form.reset()
        enter(token, answer.standing)
        return
      }
      setProblem(explainReply(answer.refused)?.sentence ?? `The gateway answered ${answer.refused.status}.`)
    } catch (error) {
      setProblem(explain(error))
    }
    setBusy(false)
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <label for="token">Token</label>
      <input id="token" type="password" autocomplete="off" spellcheck={false} required aria-describedby="token-help" />
      <button disabled={isBusy}>Use it</button>
      <span id="token-help" class="quiet">
        Stays in this page; gone when it is closed.
      </span>
      {problem === '' ? null : <p role="alert">{problem}</p>}
    </form>
  )
}

function Known(props: {
  readonly session: Session
  readonly standing: Standing
  readonly leave: () => void
  readonly choose: (network: string) => void
}): JSX.Element {
  const { session, standing } = props
  const { networks, credential_expires_at: until } = standing
  return (
    <div class="known">
      <p data-client>
        <strong>{standing.client_id ?? 'development'}</strong>
        {until === undefined || until === null ? null : (
          <span class="quiet">
            {' '}
            until <Time at={until} />
          </span>
        )}
      </p>
      {networks.length === 0 ? (
        <p class="quiet">no networks</p>
      ) : (
        <p>
          <label for="network">Network</label>{' '}
          <select
            id="network"
            value={session.networkName}
            onChange={(event) => props.choose(event.currentTarget.value)}
          >
            {networks.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </p>
      )}
      <button type="button" class="quiet-button" onClick={props.leave}>
        Forget the token
      </button>
    </div>
  )
}
