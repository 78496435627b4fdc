import {
  AccessLog,
  BatchClosedError,
  BatchFullError,
  LimiterUnavailableError,
  StartError,
  createServer,
} from '@chancery/service-kit'
import type { Binding, HttpServer, Job } from '@chancery/service-kit'
import { ALWAYS_SERVED, guardFor } from '../auth/access.ts'
import { nameCallers } from '../auth/callers.ts'
import type { Core } from '../core.ts'
import type { SwitchGates } from '../signing/key-owner-check.ts'
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
  const { management } = parts.settings
  if (management === undefined) return undefined
  const server = buildServer(parts, bindings)
  return { server, url: await listen(server, { name: 'NA_MANAGEMENT_ADDR', ...management }) }
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

/** They follow the switch, or keep an instance serving meanwhile, and sign no record. */
const UNHELD: ReadonlySet<string> = new Set([
  'key-owner-check',
  'clock-check',
  'high-water',
  'signing-probe',
  'readiness',
])

/**
 * Calls wait for the moment of a switch of the key. Published documents are served meanwhile: the code that signs the next
 * version of one checks under its lock that the key is still the current one.
 */
export function callsWaiting(bindings: readonly Binding[], { calls }: SwitchGates): readonly Binding[] {
  return bindings.map((binding) => {
    const { route, handle } = binding
    if (ALWAYS_SERVED.has(route.id) || route.stream === true) return binding
    return { ...binding, held: () => calls.opened, handle: (call) => calls.within(() => handle(call)) }
  })
}

export function jobsWaiting(jobs: readonly Job[], gates: SwitchGates): readonly Job[] {
  return jobs.map((job) =>
    UNHELD.has(job.name) ? job : { ...job, run: async (signal) => gates.jobs.within(() => job.run(signal)) },
  )
}
