import { Refusal, health as routes } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { type Binding, type Call, HttpResponse, ReadinessEvents, SharedRead, inTime } from '@chancery/service-kit'
import { DatabaseProbe, TIME_LIMIT_MS } from './database-probe.ts'
import { registerGauges } from './gauges.ts'
import { HealthCheck, HealthReports, type HealthState } from './report.ts'
import { type HealthParts, type Readiness, checkReadiness } from './readiness.ts'
import type { JsonObject } from '@chancery/protocol'
import type { Domain } from '../../database/locks/domains.ts'
import { findFeedFault } from '../revocation-feeds/index.ts'

export { CONDITIONS, MARK_MISSING, NO_REDIS, NO_STANDBY, RESTORE_ROWS, SYNC_CLOCK, notReady } from './conditions.ts'
export { checkSpeed } from './database-probe.ts'

/**
 * GET /health
 * Returns the health of the authority, the reasons, and what is enabled. Always 200: problems are in the body.
 */
async function health(_call: Call, parts: HealthState): Promise<JsonObject> {
  const { network, settings } = parts
  const [{ status, reasons }, isHealthy] = await Promise.all([parts.reports.read(), isSetHealthy(parts)])
  return {
    status,
    reasons,
    network: network.name,
    version: network.genesis.network_version,
    boundary_policies: isHealthy ? 'healthy' : 'unhealthy',
    boundary_policy_enforcement: settings.boundaryPolicyEnforcement,
    evidence_store: settings.evidenceStore ? 'on' : 'off',
  }
}

/** Policies that cannot be read are reported here and do not fail the whole response. */
async function isSetHealthy(parts: HealthParts): Promise<boolean> {
  try {
    return (await inTime(parts.boundaryPolicies.describe(), TIME_LIMIT_MS)).healthy
  } catch (error) {
    parts.log.error('cannot read the boundary policies', { error })
    return false
  }
}

/**
 * GET /metrics
 * Returns aggregate numbers only. The deployment must not expose this route (protocol/core 22.2).
 */
async function metrics(_call: Call, parts: HealthState): Promise<HttpResponse> {
  const { registry } = parts.metrics
  return new HttpResponse(await parts.metricsText.read(), registry.contentType)
}

/**
 * GET /healthz
 * Responds while the process runs. No dependency is checked, because restarting the process does not repair a database.
 */
function healthz(): JsonObject {
  return { status: 'ok' }
}

/**
 * Caches published documents at the start, so that this instance can serve them while the database is unavailable.
 * Documents that were never published are left to the first reader.
 */
export async function cacheDocuments(parts: HealthParts): Promise<void> {
  const { crl, policy, revocationFeeds } = parts
  const documents: readonly (readonly [Domain, () => Promise<unknown>])[] = [
    ['crl', crl.serveList],
    ['crl', crl.cacheFormerList],
    ['policy', policy.serveCurrent],
    ['feed', revocationFeeds.serveFeed],
    ['feed', revocationFeeds.serveIndex],
    ['feed', revocationFeeds.cacheParts],
  ]
  const { versions } = await parts.versions.read()
  for (const [head, serve] of documents) if ((versions.get(head) ?? 0) > 0) await serve()
}

/**
 * Returns why this instance cannot serve public documents, or nothing. The revocation list decides, because verifiers
 * refuse everything without it. The database is read only if the list is not cached.
 */
async function whyNoReads(parts: HealthState): Promise<readonly string[]> {
  if (!parts.isServing()) return ['stopping']
  if (parts.publishedDocuments.has('crl', parts.clock.now())) return []
  const { isReady, reasons } = await parts.readiness.read()
  return isReady ? [] : reasons
}

/**
 * GET /readyz
 * Returns whether this instance may receive requests. The checks are the same in the response and in the refusal.
 */
async function readyz(call: Call, parts: HealthState): Promise<JsonObject> {
  if (isAboutReads(call)) return readsOrRefuse(parts)
  const { isReady, checks } = await parts.readiness.read()
  if (!isReady) throw new Refusal('service_not_ready', checks)
  return { status: 'ready', ...checks, ...(maySeeLocation(call, parts) ? { db_path: parts.database.location } : {}) }
}

/**
 * GET /readyz, with a management listener
 * Returns only ready or not ready, for load balancers. The checks are on the management listener.
 */
async function readyzInBrief(call: Call, parts: HealthState): Promise<JsonObject> {
  if (isAboutReads(call)) {
    if ((await whyNoReads(parts)).length > 0) throw new Refusal('service_not_ready')
    return { status: 'ready' }
  }
  const { isReady } = await parts.readiness.read()
  if (!isReady) throw new Refusal('service_not_ready')
  return { status: 'ready' }
}

/** Headers that proxies add. With one of them the caller may be anywhere, although the proxy is on this machine. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const

/**
 * `?for=reads` checks whether public documents can be served. Any other value checks everything, as without a value.
 */
function isAboutReads(call: Call): boolean {
  return call.query.first('for') === 'reads'
}

async function readsOrRefuse(parts: HealthState): Promise<JsonObject> {
  const reasons = await whyNoReads(parts)
  if (reasons.length > 0) throw new Refusal('service_not_ready', { reasons: [...reasons] })
  return { status: 'ready', for: 'reads' }
}

/** User and host of the database are shown only to callers on this machine or on the management listener. */
function maySeeLocation({ remoteAddress, headers }: Call, { settings }: HealthParts): boolean {
  if (settings.management !== undefined) return true
  if (!remoteAddress.startsWith('127.') && remoteAddress !== '::1') return false
  // With trusted proxies the address is the caller's own.
  return settings.proxyHops > 0 || PROXY_HEADERS.every((name) => headers.all(name).length === 0)
}

/**
 * Verifies stored records whose signature counts: some treaties each time, in rotation. Faults of the list, the feed or
 * the log are found when they are signed. Here only the end of a feed fault is detected.
 */
export async function checkRecords(parts: HealthParts): Promise<void> {
  const { database, keys, recordFaults } = parts
  await parts.verifiedTreaties.look(database)
  if (!recordFaults.has('feed')) return
  const problem = await findFeedFault(database.read, keys)
  if (problem === undefined) recordFaults.clear('feed')
}

export interface Health extends Feature {
  /** Routes of the public listener when a management listener serves the others. */
  readonly briefRoutes: readonly Binding[]
  readonly readiness: SharedRead<Readiness>
  readonly databaseProbe: DatabaseProbe
  /** The content of GET /health. */
  readonly reports: HealthReports
  registerGauges(): void
}

export function openHealth(parts: HealthParts): Health {
  const databaseProbe = new DatabaseProbe(parts)
  const events = new ReadinessEvents(parts.log, parts.clock)
  const readiness = new SharedRead(async () => {
    const found = await checkReadiness(parts, databaseProbe)
    events.see(found.reasons)
    return found
  })
  const own: HealthState = {
    ...parts,
    readiness,
    databaseProbe,
    reports: new HealthReports({ ...parts, readiness }),
    metricsText: new SharedRead(() => parts.metrics.registry.render()),
  }
  const healthCheck = new HealthCheck()
  return {
    routes: [
      bind(routes.healthz, healthz),
      bind(routes.readyz, (call) => readyz(call, own)),
      bind(routes.health, (call) => health(call, own)),
      bind(routes.metrics, (call) => metrics(call, own)),
    ],
    briefRoutes: [
      bind(routes.healthz, healthz),
      bind(routes.readyz, (call) => readyzInBrief(call, own)),
      bind(routes.health, (call) => health(call, own)),
    ],
    jobs: [
      // At the start, so that an edited row is reported before it is requested.
      { name: 'record-check', everySeconds: 60, run: () => checkRecords(own) },
      { name: 'cache-documents', everySeconds: 30, run: () => cacheDocuments(own) },
      // Without this job a loss would be reported only on request.
      { name: 'readiness', everySeconds: 5, run: async () => void (await readiness.read()) },
      { name: 'health-check', everySeconds: 30, run: () => healthCheck.run(own) },
    ],
    readiness,
    databaseProbe,
    reports: own.reports,
    registerGauges: () => registerGauges(own),
    close: () => Promise.resolve(),
  }
}
