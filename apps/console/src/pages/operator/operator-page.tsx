import { createClient } from '@chancery/sdk'
import type { Client, RosterEntry, Signer } from '@chancery/sdk'
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { authority, explain } from '../../authority.ts'
import { Badge } from '../../components/badge.tsx'
import { signedOutText, idleMinutes, signOutWhenIdle } from '../../idle-key.ts'
import { openKey } from '../../session-keys.ts'
import { ActionCard } from './action-card.tsx'
import type { Values } from './action.ts'
import { ACTIONS } from './actions.ts'
import type { Authority } from './check-chain.ts'
import { Evidence } from './evidence.tsx'
import { Inventory } from './inventory.tsx'
import { Partners } from './partners.tsx'
import { Policies } from './policies.tsx'

interface Session {
  readonly signer: Signer
  readonly client: Client
  readonly authority: Authority
}

/** Shows the key form first, then the operator actions. */
export function OperatorPage(): JSX.Element {
  const [session, setSession] = useState<Session>()
  const [note, setNote] = useState('')
  const [initialValues, setInitialValues] = useState<{ readonly id: string; readonly values: Values }>()
  useEffect(() => {
    if (session === undefined) return undefined
    const minutes = idleMinutes(document.querySelector('#operator'))
    return signOutWhenIdle(minutes, () => {
      setSession(undefined)
      setInitialValues(undefined)
      setNote(signedOutText(minutes))
    })
  }, [session])
  if (session === undefined) return <KeyForm open={setSession} note={note} />
  return (
    <>
      <section class="card">
        <h2>Signed in</h2>
        <p>
          <Badge tone="good" word="key in this page" /> <strong>{session.signer.keyId}</strong>{' '}
          <code class="id">{session.signer.publicKey}</code>
        </p>
        <p>
          <button type="button" class="quiet-button" onClick={() => setSession(undefined)}>
            Sign out
          </button>
        </p>
      </section>
      <section class="card">
        <h2>Work</h2>
        {ACTIONS.map((action) => (
          <ActionCard
            key={action.id}
            action={action}
            client={session.client}
            initialValues={initialValues?.id === action.id ? initialValues.values : undefined}
          />
        ))}
      </section>
      <Policies
        client={session.client}
        genesis={session.authority.genesis}
        bring={(id, values) => setInitialValues({ id, values })}
      />
      <Nodes client={session.client} revoke={(cert_id) => setInitialValues({ id: 'revoke', values: { cert_id } })} />
      <Inventory client={session.client} />
      <Partners client={session.client} bring={(id, values) => setInitialValues({ id, values })} />
      <Evidence client={session.client} authority={session.authority} />
    </>
  )
}

function KeyForm(props: { readonly open: (session: Session) => void; readonly note: string }): JSX.Element {
  const [keyId, setKeyId] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault()
    const form = event.currentTarget
    const file = form.querySelector<HTMLInputElement>('input[type=file]')?.files?.[0]
    if (file === undefined) return
    setBusy(true)
    try {
      const signer = await openKey(await file.text(), keyId)
      // The page removes the file as soon as the key is imported.
      form.reset()
      props.open(await signIn(signer))
    } catch (error) {
      setProblem(explain(error))
      setBusy(false)
    }
  }
  return (
    <section class="card">
      <h2>Your key</h2>
      {props.note === '' ? null : <p role="status">{props.note}</p>}
      <form class="try" onSubmit={(event) => void submit(event)}>
        <p class="entry">
          <label for="key-file">Private key file</label>
          <input id="key-file" type="file" required />
        </p>
        <p class="entry">
          <label for="key-id">Key id</label>
          <input
            id="key-id"
            value={keyId}
            autocomplete="off"
            onInput={(event) => setKeyId(event.currentTarget.value)}
          />
          <span class="quiet">Only when the file does not name it.</span>
        </p>
        <button disabled={isBusy}>Use this key here</button>
        {problem === '' ? null : <p role="alert">{problem}</p>}
      </form>
    </section>
  )
}

/** Reports an unknown key at sign-in, not at the first action. */
async function signIn(signer: Signer): Promise<Session> {
  const genesis = await authority().sovereign.genesis()
  const audience = genesis.network_authority.public_key
  const client = createClient({ url: location.origin, operator: { signer, audience } })
  await client.enrollment.roster()
  return { signer, client, authority: { genesis } }
}

const SHOWN = 200

function Nodes(props: { readonly client: Client; readonly revoke: (cert_id: string) => void }): JSX.Element {
  const { client, revoke } = props
  const [nodes, setNodes] = useState<readonly (readonly [string, RosterEntry])[]>()
  const [problem, setProblem] = useState('')
  const load = (): void => {
    client.enrollment.roster().then(
      (roster) => setNodes(Object.entries(roster.nodes)),
      (error: unknown) => setProblem(explain(error)),
    )
  }
  useEffect(load, [client])
  return (
    <section class="card">
      <h2>Active nodes {nodes === undefined ? '' : <span class="quiet">{nodes.length}</span>}</h2>
      <p>
        <button type="button" class="quiet-button" onClick={load}>
          Read again
        </button>
      </p>
      {problem === '' ? null : <p role="alert">{problem}</p>}
      <div class="table" role="region" aria-label="Active nodes" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Certificate</th>
              <th scope="col">Roles</th>
              <th scope="col">Last heartbeat</th>
              <th scope="col">Ends</th>
              <th scope="col">From</th>
              <th scope="col">Work</th>
            </tr>
          </thead>
          <tbody>
            {(nodes ?? []).slice(0, SHOWN).map(([id, node]) => (
              <tr key={id}>
                <td data-label="Certificate">
                  <code>{id}</code>
                </td>
                <td data-label="Roles">{node.roles.join(', ')}</td>
                <td data-label="Last heartbeat">{node.last_heartbeat.slice(0, 16).replace('T', ' ')}</td>
                <td data-label="Ends">{node.expires_at.slice(0, 16).replace('T', ' ')}</td>
                <td data-label="From">{node.remote_addr}</td>
                <td data-label="Work">
                  <button type="button" class="link" aria-label={`Revoke ${id}`} onClick={() => revoke(id)}>
                    Revoke…
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
