import { readPublicKey } from '@chancery/protocol'
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { indentJson } from '../requests/indent-json.ts'
import type { TokenInfo } from '../requests/token-info.ts'
import type { Draft, Session } from '../session.ts'

const OPERATION = 'treaties-issue-treaty'
const MAX_HOURS = 720
const ELSEWHERE = ''

/** Prepares a treaty and sends nothing. The explorer shows it for review and signs it. */
export function FederationPage(props: {
  readonly session: Session
  readonly prepare: (network: string, draft: Draft) => void
}): JSX.Element {
  const { tokenInfo } = props.session
  return (
    <>
      <p class="quiet">
        A treaty is one-sided: the accepting authority states whose members it recognises, in which roles and until
        when. The other direction needs a treaty of the other authority.
      </p>
      {tokenInfo === undefined || tokenInfo.networks.length === 0 ? (
        <p>Enter a token above. It decides for which authorities a treaty can be prepared.</p>
      ) : (
        <TreatyForm tokenInfo={tokenInfo} prepare={props.prepare} />
      )}
    </>
  )
}

interface Terms {
  readonly accepting: string
  /** One of the token's networks, or empty for a network that this gateway does not have. */
  readonly peer: string
  readonly peerName: string
  readonly peerKeys: string
  readonly roles: string
  readonly hours: string
}

// oxlint-disable-next-line max-lines-per-function -- the state of one form and its markup
function TreatyForm(props: {
  readonly tokenInfo: TokenInfo
  readonly prepare: (network: string, draft: Draft) => void
}): JSX.Element {
  const { networks } = props.tokenInfo
  const first = networks[0]?.name ?? ''
  const [terms, setTerms] = useState<Terms>({
    accepting: first,
    peer: networks.find(({ name }) => name !== first)?.name ?? ELSEWHERE,
    peerName: '',
    peerKeys: '',
    roles: 'role:client',
    hours: '168',
  })
  const [problem, setProblem] = useState('')
  const set = (change: Partial<Terms>): void => {
    setProblem('')
    setTerms({ ...terms, ...change })
  }
  const draft = toDraft(terms, props.tokenInfo)
  const submit = (event: Event): void => {
    event.preventDefault()
    if ('problem' in draft) setProblem(draft.problem)
    else props.prepare(terms.accepting, { operation: OPERATION, body: indentJson(JSON.stringify(draft.body)) })
  }
  const others = networks.filter(({ name }) => name !== terms.accepting)
  return (
    <div class="half">
      <form class="panel body stack" onSubmit={submit}>
        <p class="field">
          <label for="accepting">Accepting authority</label>
          <select
            class="input"
            id="accepting"
            value={terms.accepting}
            onChange={(event) => set({ accepting: event.currentTarget.value, peer: ELSEWHERE })}
          >
            {networks.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </p>
        <p class="field">
          <label for="peer">Recognises members of</label>
          <select
            class="input"
            id="peer"
            value={terms.peer}
            onChange={(event) => set({ peer: event.currentTarget.value })}
          >
            {others.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
            <option value={ELSEWHERE}>another network</option>
          </select>
        </p>
        {terms.peer !== ELSEWHERE ? null : (
          <>
            <p class="field">
              <label for="peer-name">Sovereign id</label>
              <input
                class="input"
                id="peer-name"
                value={terms.peerName}
                onInput={(event) => set({ peerName: event.currentTarget.value })}
              />
            </p>
            <p class="field">
              <label for="peer-keys">Its public keys, base64</label>
              <textarea
                class="input"
                id="peer-keys"
                rows={2}
                spellcheck={false}
                value={terms.peerKeys}
                onInput={(event) => set({ peerKeys: event.currentTarget.value })}
              />
              <span class="quiet">Obtained from its operator, not from a page.</span>
            </p>
          </>
        )}
        <p class="field">
          <label for="roles">Roles</label>
          <input
            class="input"
            id="roles"
            value={terms.roles}
            onInput={(event) => set({ roles: event.currentTarget.value })}
          />
        </p>
        <p class="field">
          <label for="hours">Validity, hours (1 to {MAX_HOURS})</label>
          <input
            class="input"
            id="hours"
            inputMode="numeric"
            value={terms.hours}
            onInput={(event) => set({ hours: event.currentTarget.value })}
          />
        </p>
        <button class="btn primary">Open in the explorer for review</button>
        {problem === '' ? null : <p role="alert">{problem}</p>}
      </form>
      <section class="panel">
        <header>
          <h2>Prepared treaty</h2>
        </header>
        <div class="body">
          {'problem' in draft ? (
            <p class="quiet">{draft.problem}</p>
          ) : (
            <>
              <p>
                <strong>{terms.accepting}</strong> recognises members of{' '}
                <strong>{draft.body.subject_sovereign_id}</strong> as {draft.body.scope.allowed_roles.join(', ')} for{' '}
                {draft.body.validity_hours} hours.
              </p>
              <pre tabIndex={0}>{indentJson(JSON.stringify(draft.body))}</pre>
            </>
          )}
          <p class="quiet">Nothing has been sent. Listing a network here does not create trust.</p>
        </div>
      </section>
    </div>
  )
}

interface TreatyBody {
  readonly subject_sovereign_id: string
  readonly subject_public_keys: readonly string[]
  readonly scope: { readonly allowed_roles: readonly string[] }
  readonly validity_hours: number
}

function toDraft(terms: Terms, { networks }: TokenInfo): { readonly body: TreatyBody } | { readonly problem: string } {
  const known = networks.find(({ name }) => name === terms.peer)
  const subject = known?.name ?? terms.peerName.trim()
  // Keys of this gateway's networks are pinned by the operator. Keys of other networks are typed in.
  const keys = known === undefined ? words(terms.peerKeys) : [known.authority_public_key ?? '']
  const roles = words(terms.roles)
  if (subject === '') return { problem: 'Give the network to recognise.' }
  if (subject === terms.accepting) return { problem: 'An authority cannot make a treaty with itself.' }
  if (keys.length === 0 || keys.some((key) => readPublicKey(key) === undefined))
    return { problem: 'At least one public key is needed: 32 bytes in base64, 44 characters.' }
  if (roles.length === 0) return { problem: 'Name at least one role.' }
  if (!/^[1-9][0-9]{0,2}$/.test(terms.hours.trim()) || Number(terms.hours) > MAX_HOURS)
    return { problem: `The validity must be 1 to ${MAX_HOURS} whole hours.` }
  return {
    body: {
      subject_sovereign_id: subject,
      subject_public_keys: keys,
      scope: { allowed_roles: roles },
      validity_hours: Number(terms.hours),
    },
  }
}

function words(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}
