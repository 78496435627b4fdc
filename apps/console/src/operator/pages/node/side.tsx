import type { JSX } from 'preact'
import { keyToPath } from '../../node-key.ts'
import { Facts, Roles } from '../../parts/facts.tsx'
import { Id, shortId } from '../../parts/id.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { doHref } from '../../signing/review.tsx'
import { reasonText } from '../../words/reasons.ts'
import { nodeState } from '../nodes/node-state.ts'
import type { NodeView } from './history.ts'

/** Identity and certificates of a node. */
export function Side({ node }: { readonly node: NodeView }): JSX.Element {
  return (
    <div class="stack">
      <section class="panel">
        <header>
          <h2>Identity</h2>
        </header>
        <div class="body">
          <Facts
            of={[
              [
                'Label',
                <>
                  {node.label ?? <span class="quiet">none</span>}{' '}
                  <a class="small" href={doHref('label')}>
                    {node.label === null ? 'Name it' : 'Rename'}
                  </a>
                </>,
              ],
              ['Node key', <Id id={node.node_public_key} what="the node key" whole />],
              ['Roles', <Roles roles={node.roles} />],
              [
                'Agent',
                node.agent_id === null ? undefined : (
                  <a href={`/operator/agents/${keyToPath(node.node_public_key)}`}>{node.agent_id}</a>
                ),
              ],
              ['Can do', node.capabilities.join(', ')],
              ['Address', node.remote_addr],
            ]}
          />
        </div>
      </section>
      <Certificate node={node} />
    </div>
  )
}

function Certificate({ node }: { readonly node: NodeView }): JSX.Element {
  const earlier = node.certificates.filter(({ cert_id }) => cert_id !== node.cert_id)
  return (
    <section class="panel">
      <header>
        <h2>Certificate</h2>
        <div class="end">
          <State {...nodeState(node.state)} />
        </div>
      </header>
      <div class="body">
        <Facts
          of={[
            ['Id', <Id id={node.cert_id} what="the certificate id" whole />],
            ['Issued', <Time at={node.issued_at} both />],
            ['Ends', <Time at={node.expires_at} both />],
            ['Revoked', node.revoked_at === null ? undefined : <Time at={node.revoked_at} both />],
            ['Reason', node.revocation_reason === null ? undefined : reasonText(node.revocation_reason)],
          ]}
        />
        {earlier.length === 0 ? null : (
          <details>
            <summary>
              Earlier certificates <small>{earlier.length}</small>
            </summary>
            <ul>
              {earlier.map(({ cert_id, issued_at, expires_at, revoked_at }) => (
                <li class="quiet small" key={cert_id}>
                  <code title={cert_id}>{shortId(cert_id)}</code> · {issued_at.slice(0, 10)} to{' '}
                  {expires_at.slice(0, 10)}
                  {revoked_at === null ? '' : ' · revoked'}
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </section>
  )
}
