import { GATEWAY_ROUTES, type GatewayRoute } from '@chancery/contract'
import type { JSX } from 'preact'
import { Badge } from '../../components/badge.tsx'
import { useAutoRefresh } from '../components/use-live.ts'
import { type Page, writeLocation } from '../view-location.ts'
import { loadMesh } from '../requests/mesh.ts'
import { type Reply, sendRequest } from '../requests/send-request.ts'
import { type GatewayDescription, type Warning, findWarnings } from '../requests/warnings.ts'
import type { Operation } from '../requests/catalogue.ts'

interface Condition {
  readonly isAlive: boolean
  readonly isReady: boolean
  /** Names of the readiness checks that fail. */
  readonly failing: readonly string[]
  readonly description: GatewayDescription
  readonly networks: number | undefined
  readonly warnings: readonly Warning[]
}

async function loadCondition(): Promise<Condition> {
  const read = ({ path }: GatewayRoute): Promise<Reply> => sendRequest({ method: 'GET', target: path })
  const { health: alive, ready: readiness, api: about } = GATEWAY_ROUTES
  const [health, ready, api, mesh] = await Promise.all([
    read(alive),
    read(readiness),
    read(about),
    loadMesh().catch(() => undefined),
  ])
  if (api.status !== 200) throw new Error(`The gateway responded ${api.status} to the request for its description.`)
  // Page and gateway are of one release, so the response has the library's type.
  const description = JSON.parse(api.text) as GatewayDescription
  return {
    isAlive: health.status === 200,
    isReady: ready.status === 200,
    failing: ready.status === 200 ? [] : failingChecks(ready.text),
    description,
    networks: mesh?.networks.length,
    warnings: findWarnings(description, mesh, globalThis.isSecureContext),
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
  supervisor: 'The supervisor of this worker does not respond.',
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
  if (value === undefined) return problem === undefined ? <p role="status">Loading…</p> : <p role="alert">{problem}</p>
  const { description, warnings } = value
  return (
    <>
      <Verdict condition={value} problem={problem} />
      <section class="vitals" aria-label="Figures">
        <Figure name="Version" value={description.version} note={description.service} />
        <Figure
          name="Mode"
          value={description.mode}
          note={description.mode === 'production' ? 'policy by its operator' : 'for trials only'}
        />
        <Figure name="Networks" value={String(value.networks ?? '–')} note="published in the mesh" page="mesh" />
        <Figure name="Operations" value={String(operations.length)} note="in the explorer" page="explorer" />
      </section>
      {warnings.length === 0 ? null : <Warnings warnings={warnings} />}
      <div class="half">
        <section class="panel">
          <header>
            <h2>Protections</h2>
          </header>
          <ul class="warnings">
            {Object.entries(description.security_capabilities).map(([name, isOn]) => (
              <li key={name}>
                <Badge
                  tone={isOn ? 'good' : warnings.some((each) => each.name === name) ? 'watch' : 'ended'}
                  word={isOn ? 'on' : 'off'}
                />
                <span>{CAPABILITIES[name] ?? name.replaceAll('_', ' ')}</span>
              </li>
            ))}
          </ul>
        </section>
        <section class="panel">
          <header>
            <h2>Before you enter anything here</h2>
          </header>
          <div class="body">
            <p>
              The code of this page comes from the gateway. A malicious gateway could make the page sign something other
              than it shows.
            </p>
            <p>
              If you do not run this gateway, sign with the client library or the command line instead, and paste the
              four headers.
            </p>
            <p class="quiet">
              Token and key stay in the memory of this page. Nothing is stored, and the page sends no request to other
              addresses.
            </p>
          </div>
        </section>
      </div>
    </>
  )
}

function Warnings({ warnings }: { readonly warnings: readonly Warning[] }): JSX.Element {
  return (
    <section class="panel" data-warnings={warnings.length}>
      <header>
        <h2>Warnings</h2>
        <p>{warnings.length}</p>
      </header>
      <ul class="warnings">
        {warnings.map(({ name, text, effect }) => (
          <li key={text} data-warning={name}>
            <Badge tone="watch" word="warning" />
            <div>
              <b>{text}</b>
              <p>{effect}</p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Says «Ready» alone only when nothing is wrong and no protection is off. */
function Verdict(props: { readonly condition: Condition; readonly problem: string | undefined }): JSX.Element {
  const { condition, problem } = props
  const { length: count } = condition.warnings
  const isWell = condition.isAlive && condition.isReady
  const tone = problem !== undefined || (isWell && count > 0) ? 'watch' : isWell ? 'good' : 'bad'
  const ready = count === 0 ? 'Ready' : `Ready, with ${count === 1 ? '1 warning' : `${count} warnings`}`
  return (
    <section class="verdict" data-ready={String(isWell)} data-tone={tone}>
      <h2 class="headline">{problem !== undefined ? 'No response at the moment' : isWell ? ready : 'Not ready'}</h2>
      {problem !== undefined ? (
        <p role="alert">{problem} The values below are from an earlier request.</p>
      ) : isWell ? (
        <p>
          <Badge tone={tone} word={tone === 'good' ? 'ready' : 'ready, not fully protected'} /> Its revocation lists are
          current.
        </p>
      ) : (
        <ul class="plain">
          {condition.failing.map((name) => (
            <li key={name}>
              <Badge tone="bad" word="failed" /> {CHECKS[name] ?? name}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Figure(props: {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly page?: Page
}): JSX.Element {
  const { name, page } = props
  return (
    <div class="vital">
      <h3>{page === undefined ? name : <a href={writeLocation(page)}>{name}</a>}</h3>
      <span class="fig">{props.value}</span>
      <p>{props.note}</p>
    </div>
  )
}
