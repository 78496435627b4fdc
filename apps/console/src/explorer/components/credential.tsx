import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { findMistype } from '../requests/check-token.ts'
import { explainReply } from '../requests/explain-reply.ts'
import { type TokenInfo, loadTokenInfo } from '../requests/token-info.ts'
import type { Session } from '../session.ts'
import { Time } from './time.tsx'

/** Shows the token and its client on every page. */
export function Credential(props: {
  readonly session: Session
  readonly signIn: (token: string, tokenInfo: TokenInfo) => void
  readonly signOut: () => void
  readonly choose: (network: string) => void
}): JSX.Element {
  const { session } = props
  return (
    <section class="credential" aria-label="Token">
      {session.tokenInfo === undefined ? (
        <TokenForm signIn={props.signIn} />
      ) : (
        <SignedIn session={session} tokenInfo={session.tokenInfo} signOut={props.signOut} choose={props.choose} />
      )}
    </section>
  )
}

function TokenForm({ signIn }: { readonly signIn: (token: string, tokenInfo: TokenInfo) => void }): JSX.Element {
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
      const response = await loadTokenInfo(token)
      if ('tokenInfo' in response) {
        form.reset()
        signIn(token, response.tokenInfo)
        return
      }
      setProblem(explainReply(response.refused)?.sentence ?? `The gateway responded ${response.refused.status}.`)
    } catch (error) {
      setProblem(explain(error))
    }
    setBusy(false)
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <label for="token">Token</label>
      <input
        class="input"
        id="token"
        type="password"
        autocomplete="off"
        spellcheck={false}
        required
        aria-describedby="token-help"
      />
      <button class="btn primary" disabled={isBusy}>
        Use it
      </button>
      <span id="token-help" class="quiet">
        Stays in this page; gone when it is closed.
      </span>
      {problem === '' ? null : <p role="alert">{problem}</p>}
    </form>
  )
}

function SignedIn(props: {
  readonly session: Session
  readonly tokenInfo: TokenInfo
  readonly signOut: () => void
  readonly choose: (network: string) => void
}): JSX.Element {
  const { session, tokenInfo } = props
  const { networks, credential_expires_at: until } = tokenInfo
  return (
    <div class="known">
      <p data-client>
        <strong>{tokenInfo.client_id ?? 'development'}</strong>
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
            class="input"
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
      <button type="button" class="btn" onClick={props.signOut}>
        Sign out
      </button>
    </div>
  )
}
