import type { JSX } from 'preact'
import { Badge } from '../../components/badge.tsx'
import { Fact } from '../../components/fact.tsx'
import { Time } from '../components/time.tsx'
import type { NetworkInfo } from '../requests/token-info.ts'
import type { Session } from '../session.ts'

/** Shows the networks of the token with their pinned keys and lists. */
export function NetworksPage({ session }: { readonly session: Session }): JSX.Element {
  const { tokenInfo } = session
  return (
    <>
      {tokenInfo === undefined ? (
        <p class="quiet">Enter a token above: the gateway shows each caller its own networks and no others.</p>
      ) : tokenInfo.mode === 'development' ? (
        <p class="quiet">This gateway runs in development mode and has no configured networks.</p>
      ) : (
        <>
          <dl class="facts panel body">
            <Fact name="Client" value={tokenInfo.client_id ?? ''} />
            <Fact name="Policy revision" value={tokenInfo.policy_revision ?? ''} />
            <Fact name="Groups" value={tokenInfo.service_groups?.join(', ') || 'none'} />
            <Fact
              name="Operator-signed operations"
              value={tokenInfo.authority_admin === true ? 'may be forwarded' : 'may not be forwarded'}
            />
          </dl>
          {tokenInfo.networks.map((network) => (
            <Network key={network.name} network={network} />
          ))}
        </>
      )}
    </>
  )
}

function Network({ network }: { readonly network: NetworkInfo }): JSX.Element {
  const { revocation, last_refresh: refresh } = network
  return (
    <section class="panel" data-network={network.name}>
      <header>
        <h2>
          {network.name}{' '}
          {network.ready ? <Badge tone="good" word="ready" /> : <Badge tone="bad" word="denies everything" />}{' '}
          {network.suspect ? <Badge tone="bad" word="issuer contradicted itself" /> : null}{' '}
          {network.services_configured ? null : <Badge tone="ended" word="nothing is forwarded" />}
        </h2>
      </header>
      <dl class="facts wide body">
        {Object.entries(network.anchors).map(([id, key]) => (
          <Fact key={id} name={`Pinned key ${id}`} value={key} />
        ))}
        <Fact name="Required roles" value={network.required_roles.join(', ') || 'none'} />
        <Fact name="Operator signatures" value={`version ${network.admin_signature_version}`} />
        <div>
          <dt>Last refresh</dt>
          <dd>
            {refresh === null ? 'none yet' : refresh.outcome} {refresh === null ? null : <Time at={refresh.at} />}
          </dd>
        </div>
      </dl>
      <div class="table cards">
        <table>
          <caption>Revocation lists of {network.name}</caption>
          <thead>
            <tr>
              <th scope="col">Issuer</th>
              <th scope="col">Number</th>
              <th scope="col">Revoked</th>
              <th scope="col">Good until</th>
            </tr>
          </thead>
          <tbody>
            {[revocation, ...network.additional_issuers].map((list) => (
              <tr key={list.issuer}>
                <td data-label="Issuer">{list.issuer}</td>
                <td data-label="Number">{list.sequence}</td>
                <td data-label="Revoked">{list.revoked_count}</td>
                <td data-label="Good until">
                  <Time at={list.next_update} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
