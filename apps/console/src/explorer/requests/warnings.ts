import type { Mesh } from '@chancery/contract'

/** GET /api of a gateway (protocol/gateway 11). */
export interface GatewayDescription {
  readonly service: string
  readonly version: string
  readonly mode: string
  readonly security_capabilities: Readonly<Record<string, boolean>>
}

/** Something that is not as safe as it can be, and what follows from it. */
export interface Warning {
  readonly name: string
  readonly text: string
  readonly effect: string
}

/** What follows from a protection that is off. Capabilities that are no protection are not in this list. */
const OFF: Readonly<Record<string, Omit<Warning, 'name'>>> = {
  durable_crl_state: {
    text: 'Revocation lists are not stored.',
    effect: 'After a restart an older list is accepted again. GATEWAY_STATE_FILE stores them.',
  },
  durable_audit: {
    text: 'The audit is not stored.',
    effect: 'Requests are in the log only, and cannot be found by their id. GATEWAY_STATE_FILE stores them.',
  },
  audit_delivery: {
    text: 'Audit events are not delivered to a collector.',
    effect: 'With the disk of this gateway its audit is lost too. GATEWAY_AUDIT_URL names a collector.',
  },
  shared_quotas: {
    text: 'Quotas are counted by each replica alone.',
    effect: 'With several replicas a token gets a multiple of its quota. GATEWAY_REDIS_URL_FILE shares them.',
  },
  mtls: {
    text: 'Callers present no client certificate.',
    effect: 'A copied token is enough to call this gateway. GATEWAY_TLS_CLIENT_CA_FILE requires certificates.',
  },
  sticky_revocation: { text: 'A revoked certificate can become valid again.', effect: 'A later list may omit it.' },
  hot_reload: { text: 'The policy is read at the start only.', effect: 'A removed token works until a restart.' },
}

const SYNCHRONIZATION: Readonly<Record<string, string>> = {
  behind: 'is older than the published one',
  not_imported: 'was never imported',
  source_unverified: 'could not be verified at its source',
  source_rollback: 'is newer than the published one: the source was rolled back',
}

const MESH_UNKNOWN: Warning = {
  name: 'mesh',
  text: 'The state of the networks could not be read.',
  effect: 'Networks that do not respond and old lists are not shown here.',
}

/** Lists every protection that is off and every input that is not current, the most important first. */
export function findWarnings(
  { mode, security_capabilities: capabilities }: GatewayDescription,
  mesh: Mesh | undefined,
  isSecure: boolean,
): readonly Warning[] {
  const found: Warning[] = []
  if (mode !== 'production')
    found.push({
      name: 'mode',
      text: 'This gateway runs in development mode.',
      effect: 'One shared token is accepted, and there is no policy. Use it for trials only.',
    })
  if (!isSecure)
    found.push({
      name: 'plain_http',
      text: 'This page came over plain HTTP.',
      effect: 'A token that you enter can be read on its way, and the browser signs nothing.',
    })
  for (const [name, warning] of Object.entries(OFF)) if (capabilities[name] === false) found.push({ name, ...warning })
  return [...found, ...(mesh === undefined ? [MESH_UNKNOWN] : meshWarnings(mesh))]
}

function meshWarnings({ networks, synchronization }: Mesh): readonly Warning[] {
  return [
    ...networks.flatMap(({ id, available, trust_ready }) => {
      if (!available)
        return [{ name: 'network', text: `${id} does not respond.`, effect: 'What is shown of it may be old.' }]
      if (trust_ready) return []
      const effect = 'Its certificates are refused until the list is refreshed.'
      return [{ name: 'network', text: `The revocation list of ${id} is not current.`, effect }]
    }),
    ...synchronization.flatMap(({ consumer, publisher, status }) => {
      const what = SYNCHRONIZATION[status]
      if (what === undefined) return []
      const effect = `Members that ${publisher} withdrew may still be accepted by ${consumer}.`
      return [{ name: 'feed', text: `The feed of ${publisher} at ${consumer} ${what}.`, effect }]
    }),
  ]
}
