import { GATEWAY_ROUTES } from '@chancery/contract'
import type { GatewayDescription } from '@chancery/sdk'
import type { JSX } from 'preact'
import { Badge } from '../../components/badge.tsx'
import { useAutoRefresh } from '../components/use-live.ts'
import { writeLocation } from '../view-location.ts'
import { sendRequest } from '../requests/send-request.ts'
import type { Operation } from '../requests/catalogue.ts'

interface Condition {
  readonly isAlive: boolean
  readonly isReady: boolean
  /** Names of the readiness checks that fail. */
  readonly failing: readonly string[]
  readonly description: GatewayDescription
}

async function loadCondition(): Promise<Condition> {
  const [health, ready, api] = await Promise.all(
    [GATEWAY_ROUTES.health, GATEWAY_ROUTES.ready, GATEWAY_ROUTES.api].map(({ path }) =>
      sendRequest({ method: 'GET', target: path }),
    ),
  )
  if (api?.status !== 200) throw new Error(`The gateway responded ${api?.status} to the request for its description.`)
  return {
    isAlive: health?.status === 200,
    isReady: ready?.status === 200,
    failing: ready?.status === 200 ? [] : failingChecks(ready?.text ?? ''),
    // Page and gateway are of one release, so the response has the library's type.
    description: JSON.parse(api.text) as GatewayDescription,
  }
}

function failingChecks(text: string): readonly string[] {
  try {
    const { details } = JSON.parse(text) as { readonly details?: { readonly checks?: Record<string, boolean> } }
    return Object.entries(details?.checks ?? {}).flatMap(([name, isGood]) => (isGood ? [] : [name]))
  } catch {
    return []
  }
}

const CHECKS: Readonly<Record<string, string>> = {
  revocation: 'A revocation list is stale or missing: its network denies every certificate until it is refreshed.',
  state: 'The durable state is not usable.',
  quota: 'The shared quota backend does not respond.',
  audit_capacity: 'The audit store is full.',
}

const CAPABILITIES: Readonly<Record<string, string>> = {
  durable_crl_state: 'Older revocation lists are refused, also after a restart',
  durable_audit: 'Every authenticated request is audited before the response is sent',
  oidc: 'Tokens of an identity provider are accepted',
  shared_quotas: 'Quotas are counted over all replicas',
  multi_issuer_crls: 'Several revocation list issuers per network',
  mtls: 'Callers present a client certificate',
  audit_delivery: 'Audit events are delivered to a collector',
  hot_reload: 'The policy is read again without a restart',
  sticky_revocation: 'A revoked certificate stays revoked',
}

/** Shows the state of the gateway, its description and the rules for secrets. */
export function OverviewPage({ operations }: { readonly operations: readonly Operation[] }): JSX.Element {
  const { value, problem } = useAutoRefresh(loadCondition)
  if (value === undefined)
    return (
      <>
        <h1>Trust gateway</h1>
        {problem === undefined ? <p role="status">Loading…</p> : <p role="alert">{problem}</p>}
      </>
    )
  const { description } = value
  const isProduction = description.mode === 'production'
  return (
    <>
      <Verdict condition={value} problem={problem} />
      <div class="tiles">
        <Tile name="Version" figure={description.version} note={description.service} />
        <Tile
          name="Mode"
          figure={description.mode}
          note={isProduction ? 'policy by its operator' : 'for trials only'}
        />
        <Tile
          name="Operations"
          figure={String(operations.length)}
          note="in the explorer"
          link={writeLocation('explorer')}
        />
      </div>
      <div class="columns">
        <section class="card">
          <h2>Protections</h2>
          <ul class="plain capabilities">
            {Object.entries(description.security_capabilities).map(([name, isOn]) => (
              <li key={name}>
                <Badge tone={isOn ? 'good' : 'ended'} word={isOn ? 'on' : 'off'} />{' '}
                <span>{CAPABILITIES[name] ?? name.replaceAll('_', ' ')}</span>
              </li>
            ))}
          </ul>
        </section>
        <section class="card">
          <h2>Before you enter anything here</h2>
          <p>
            The code of this page comes from the gateway. A malicious gateway could make the page sign something other
            than it shows.
          </p>
          <p>
            If you do not run this gateway, sign with the client library or the command line instead, and paste the four
            headers.
          </p>
          <p class="quiet">
            Token and key stay in the memory of this page. Nothing is stored, and the page sends no request to other
            addresses.
          </p>
        </section>
      </div>
    </>
  )
}

function Verdict(props: { readonly condition: Condition; readonly problem: string | undefined }): JSX.Element {
  const { condition, problem } = props
  const isWell = condition.isAlive && condition.isReady
  const tone = problem !== undefined ? 'watch' : isWell ? 'good' : 'bad'
  return (
    <section class={`verdict verdict-${tone}`} data-ready={String(isWell)}>
      <h1>{problem !== undefined ? 'No response at the moment' : isWell ? 'Ready' : 'Not ready'}</h1>
      {problem !== undefined ? (
        <p role="alert">{problem} The values below are from an earlier request.</p>
      ) : isWell ? (
        <p class="lead">The gateway is ready and its lists are current.</p>
      ) : (
        <ul>
          {condition.failing.map((name) => (
            <li key={name}>{CHECKS[name] ?? name}</li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Tile(props: {
  readonly name: string
  readonly figure: string
  readonly note: string
  readonly link?: string
}): JSX.Element {
  return (
    <section class="tile">
      <h2>{props.link === undefined ? props.name : <a href={props.link}>{props.name}</a>}</h2>
      <p class="figure">{props.figure}</p>
      <p class="note">{props.note}</p>
    </section>
  )
}
