import type { Client, RosterEntry } from '@chancery/sdk'
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { ActionCard } from './action-card.tsx'
import type { Values } from './action.ts'
import { ACTIONS } from './actions.ts'
import { Partners } from './partners.tsx'

/** The key of the session signs; this page never holds it. */
interface OperatorPageProps {
  readonly client: Client
}

/** Shows the operator actions. */
export function OperatorPage({ client }: OperatorPageProps): JSX.Element {
  const [initialValues, setInitialValues] = useState<{ readonly id: string; readonly values: Values }>()
  return (
    <>
      <section class="card">
        <h2>Work</h2>
        {ACTIONS.map((action) => (
          <ActionCard
            key={action.id}
            action={action}
            client={client}
            initialValues={initialValues?.id === action.id ? initialValues.values : undefined}
          />
        ))}
      </section>
      <Nodes client={client} revoke={(cert_id) => setInitialValues({ id: 'revoke', values: { cert_id } })} />
      <Partners client={client} bring={(id, values) => setInitialValues({ id, values })} />
    </>
  )
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
