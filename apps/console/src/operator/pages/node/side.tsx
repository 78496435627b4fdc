import type { JsonObject } from '@chancery/protocol'
import type { JSX } from 'preact'
import { at, authorityNow, send } from '../../client.ts'
import { dashboard } from '../../dashboard.ts'
import { keyToPath } from '../../node-key.ts'
import { Facts, Roles } from '../../parts/facts.tsx'
import { Id, shortId } from '../../parts/id.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { VerifiedHere, useCheck } from '../../proof/verified-here.tsx'
import { withQuery } from '../../router.ts'
import { makePayload } from '../../signing/payload.ts'
import { doHref } from '../../signing/review.tsx'
import { useStore } from '../../store.ts'
import { reasonText } from '../../words/reasons.ts'
import { nodeState } from '../nodes/node-state.ts'
import { effectsOf } from '../nodes/revoke.ts'
import { type NodeView, isUsable } from './history.ts'
import { listAge } from './list-age.ts'

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
      {node.certificates.some((each) => isUsable(each, authorityNow())) ? <IfRevoked node={node} /> : null}
    </div>
  )
}

/** The dry run of a revocation of every certificate. It changes nothing, and a standard key may ask for it. */
function IfRevoked({ node }: { readonly node: NodeView }): JSX.Element {
  const effects = useCheck(node.cert_id, async () => {
    const body = { cert_id: node.cert_id, reason: 'cessation_of_operation', dry_run: true }
    const answer = await send(makePayload({ method: 'POST', target: at`/admin/revoke`, body }))
    return effectsOf({ ends: 'all' }, answer as JsonObject)
  })
  return (
    <section class="panel">
      <header>
        <h2>If you revoke it</h2>
      </header>
      <div class="body" data-if-revoked={effects === undefined ? 'waiting' : 'done'}>
        {effects === undefined ? (
          <span class="bone" />
        ) : effects instanceof Error ? (
          <p class="quiet">The dry run failed: {effects.message}</p>
        ) : (
          <p>{effects.map(({ text }) => `${text}.`).join(' ')}</p>
        )}
      </div>
    </section>
  )
}

/** A longer list takes too much of the page and of the authority. */
const MOST_LISTED = 5000

/** What gateways and services see. The time of the revocation above it is the record of the authority. */
function Listed({ certId }: { readonly certId: string }): JSX.Element {
  const { value: summary, problem } = useStore(dashboard) ?? {}
  const list = summary?.revocation_list ?? undefined
  const isShort = list !== undefined && list.entries <= MOST_LISTED
  const found = useCheck(`${certId} ${list?.sequence ?? ''}`, async () => {
    if (!isShort) return undefined
    const { checkListed } = await import('../../proof/check-record.ts')
    return checkListed(certId)
  })
  if (list !== undefined && !isShort)
    return (
      <span data-listed="not-read">
        not read here: list #{list.sequence} has {list.entries.toLocaleString('en')} entries
      </span>
    )
  if (list === undefined && (summary ?? problem) !== undefined)
    return (
      <span data-listed="not-checked">
        not checked: {summary === undefined ? 'the summary cannot be read' : 'the summary has no list'}
      </span>
    )
  if (list === undefined || found === undefined) return <span class="quiet">reading</span>
  if (found instanceof Error) return <span data-listed="not-checked">not checked: {found.message}</span>
  const age = listAge(found, list.sequence, authorityNow())
  return (
    <span data-listed={found.isListed ? 'yes' : 'no'}>
      {found.isListed ? 'yes' : 'no'}, list #{found.sequence.toLocaleString('en')}, verified in this browser
      {age === '' ? null : <b data-list-age>, {age}</b>}
    </span>
  )
}

function Certificate({ node }: { readonly node: NodeView }): JSX.Element {
  const record = node.certificates.find(({ cert_id }) => cert_id === node.cert_id)?.certificate
  const finding = useCheck(`${node.cert_id} ${JSON.stringify(record)}`, async () => {
    const { checkCertificate } = await import('../../proof/check-record.ts')
    return checkCertificate(record ?? null, node)
  })
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
            ['Signature', <VerifiedHere finding={finding} />],
            ['Issued', <Time at={node.issued_at} both />],
            ['Ends', <Time at={node.expires_at} both />],
            ['Revoked', node.revoked_at === null ? undefined : <Time at={node.revoked_at} both />],
            ['In the published list', <Listed certId={node.cert_id} />],
            ['Reason', node.revocation_reason === null ? undefined : reasonText(node.revocation_reason)],
          ]}
        />
        {earlier.length === 0 ? null : (
          <details>
            <summary>
              Earlier certificates{' '}
              <small>{node.more_certificates ? `newest ${earlier.length}, there are more` : earlier.length}</small>
            </summary>
            <ul>
              {earlier.map((each) => (
                <li class="quiet small" key={each.cert_id}>
                  <code title={each.cert_id}>{shortId(each.cert_id)}</code> · {each.issued_at.slice(0, 10)} to{' '}
                  {each.expires_at.slice(0, 10)}
                  {each.revoked_at === null ? '' : ' · revoked'}{' '}
                  {isUsable(each, authorityNow()) ? (
                    <a
                      href={withQuery({ do: 'revoke', cert: each.cert_id })}
                      aria-label={`Revoke certificate ${shortId(each.cert_id)}`}
                    >
                      Revoke…
                    </a>
                  ) : null}
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </section>
  )
}
