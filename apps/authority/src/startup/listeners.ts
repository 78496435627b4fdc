import {
  AccessLog,
  BatchClosedError,
  BatchFullError,
  LimiterUnavailableError,
  StartError,
  createServer,
} from '@chancery/service-kit'
import type { Binding, HttpServer } from '@chancery/service-kit'
import { guardFor } from '../auth/access.ts'
import { nameCallers } from '../auth/key-use.ts'
import type { Core } from '../core.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { Refusal } from '@chancery/contract'
import { TooManyChecksError } from '@chancery/protocol'
import { UnknownOutcomeError } from '../database/errors.ts'
import { translateDatabaseError } from '../database/open.ts'

/**
 * Converts internal errors to refusals. An unknown outcome of a COMMIT is reported, so that the caller checks before a
 * retry.
 */
function toRefusal(error: unknown): Refusal | undefined {
  if (error instanceof UnknownOutcomeError)
    return new Refusal('service_unavailable', { reason: 'database_unavailable', outcome: 'unknown' }, { cause: error })
  // There is no verdict. The response has the reason, so that a record that was not verified in full is not called
  // forged.
  if (error instanceof TooManyChecksError) return new Refusal('too_many_verifications', {}, { cause: error })
  if (error instanceof LimiterUnavailableError) return away('rate_limiter_unavailable', error)
  if (error instanceof BatchFullError || error instanceof BatchClosedError) return away('overloaded', error)
  const cause = translateDatabaseError(error)
  return cause === undefined ? undefined : away('database_unavailable', cause)
}

/** With the names of the readiness document. */
function away(reason: string, cause: unknown): Refusal {
  return new Refusal('service_unavailable', { reason }, { cause })
}

export interface EdgeParts extends Core {
  readonly settings: AuthoritySettings
}

/** The address of a listener, and its setting. */
interface ListenAddress {
  readonly name: string
  readonly host: string
  readonly port: number
}

export interface Listeners {
  readonly url: string
  readonly management: { readonly server: HttpServer; readonly url: string } | undefined
}

/**
 * Opens both listeners or none. The management listener is first, so that an authority that cannot start serves no
 * requests.
 */
export async function openListeners(
  parts: EdgeParts,
  server: HttpServer,
  inside: readonly Binding[],
): Promise<Listeners> {
  const { host, port } = parts.settings
  const management = await openManagement(parts, inside)
  try {
    return { url: await listen(server, { name: 'PORT', host, port }), management }
  } catch (error) {
    await management?.server.stopAccepting()
    throw error
  }
}

/** Opens the management listener, if configured. */
async function openManagement(parts: EdgeParts, bindings: readonly Binding[]): Promise<Listeners['management']> {
  const { managementHost: host, managementPort: port } = parts.settings
  if (port === undefined) return undefined
  const server = buildServer(parts, bindings)
  return { server, url: await listen(server, { name: 'NA_MANAGEMENT_PORT', host, port }) }
}

async function listen(server: HttpServer, { name, host, port }: ListenAddress): Promise<string> {
  try {
    return await server.listen(host, port)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const reason = LISTEN_FAILURES.get(code)
    if (reason === undefined) throw error
    throw new StartError(`${name}: ${port} ${reason(host)}`, { cause: error, isTemporary: code === 'EADDRINUSE' })
  }
}

const LISTEN_FAILURES: ReadonlyMap<string, (host: string) => string> = new Map([
  ['EADDRINUSE', (host) => `is in use on ${host}: stop what listens there, or choose another port`],
  ['EACCES', (host) => `may not be opened on ${host} by this user: choose a port above 1023`],
  ['EADDRNOTAVAIL', (host) => `cannot be opened on ${host}: it is not an address of this machine`],
])

export function buildServer(parts: EdgeParts, bindings: readonly Binding[]): HttpServer {
  return createServer({
    bindings,
    guard: guardFor(parts),
    nameCaller: nameCallers(parts, parts.settings.trustedGatewayKeys),
    ids: parts.ids,
    log: parts.log,
    proxyHops: parts.settings.proxyHops,
    maxRequestBytes: parts.settings.maxRequestBytes,
    translate: toRefusal,
    missing: { prefix: '/operator-console-static/', code: 'asset_not_found' },
    access: accessLogOf(parts),
    observe: (route, status, seconds) => parts.metrics.requests.observe(route?.id ?? 'none', status, seconds),
  })
}

function accessLogOf({ log, instance, settings }: EdgeParts): AccessLog {
  return new AccessLog({ log, instance, every: settings.accessLogEvery })
}
