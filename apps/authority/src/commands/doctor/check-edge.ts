import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { GenesisBlock } from '@chancery/protocol'
import { type JsonObject, fromBase64, isJsonObject, sha256Hex } from '@chancery/protocol'
import { notReady } from '../../features/health/index.ts'
import { listNewestEvents } from '../../audit/newest.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Database } from '../../database/database.ts'
import {
  type Finding,
  type Reply,
  askService,
  bad,
  checkWorkers,
  good,
  ownOrigin,
  skipped,
  warn,
} from '@chancery/service-kit'

/** From a reserved block (RFC 5737). If the authority uses it, callers choose their own address. */
const FORGED_ADDRESS = '198.51.100.77'
/** Number of events searched for the probe. */
const RECENT = 200

/** Checks the instance on this machine, as the load balancer sees it. Without known keys any authority counts as it. */
export async function checkInstance(
  settings: AuthoritySettings,
  ownKeys: readonly string[] | undefined,
): Promise<readonly Finding[]> {
  const own = ownOrigin(settings.management ?? settings)
  const answer = await askService(`${own}/readyz`)
  const workers = checkWorkers({
    setting: 'NA_WORKERS',
    workers: settings.workers,
    warnings: (answer?.status === 200 ? answer.body : detailsOf(answer?.body))?.['warnings'],
  })
  return [...workers, describeAnswer(own, answer, ownKeys)]
}

function describeAnswer(own: string, answer: Reply | undefined, ownKeys: readonly string[] | undefined): Finding {
  if (answer === undefined)
    return bad('ready', `no response from ${own}`, 'Start the authority; its first log lines show what stops it.')
  const key = (answer.status === 200 ? answer.body : detailsOf(answer.body))?.['signing_key']
  const fingerprint = isJsonObject(key) ? key['fingerprint'] : undefined
  if (answer.status === 200 && fingerprint === undefined)
    return bad(
      'ready',
      `${own} is not an authority`,
      'Another program uses the port: find it, then start the authority.',
    )
  if (
    fingerprint !== undefined &&
    ownKeys !== undefined &&
    !ownKeys.some((each) => fingerprintOf(each) === fingerprint)
  )
    return bad(
      'ready',
      `${own} is an authority with another key`,
      'Stop it, or correct PORT and NA_MANAGEMENT_ADDR; then start the authority of these settings.',
    )
  return answer.status === 200 ? good('ready', own) : notReady(readReasons(answer.body))
}

function fingerprintOf(publicKey: string): string {
  return sha256Hex(fromBase64(publicKey) ?? new Uint8Array())
}

/** The reasons in a refusal of /readyz. Empty where it has none. */
function readReasons(body: JsonObject | undefined): readonly string[] {
  const reasons = detailsOf(body)?.['reasons']
  return Array.isArray(reasons) ? reasons.map(String) : []
}

function detailsOf(body: JsonObject | undefined): JsonObject | undefined {
  const error = body?.['error']
  const details = isJsonObject(error) ? error['details'] : undefined
  return isJsonObject(details) ? details : undefined
}

/** Checks the public address: what unauthenticated callers reach, and which address the authority uses for them. */
export async function checkBalancer(
  url: string,
  { settings, genesis, database }: { settings: AuthoritySettings; genesis: GenesisBlock; database: Database },
): Promise<readonly Finding[]> {
  const { origin, protocol, hostname } = new URL(url)
  const isLocal = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
  const metadata = await askService(`${origin}/sovereign.json`)
  if (metadata?.body === undefined)
    return [
      bad(
        'balancer',
        `${origin} does not answer`,
        'Check the load balancer: it must check GET /readyz and forward everything else.',
      ),
    ]
  const { sovereign_id: name, root_public_key: root } = metadata.body
  if (name !== genesis.network_name || root !== genesis.root_public_key)
    return [
      bad('balancer', `${origin} leads to another network`, 'Point the balancer at the instances of this authority.'),
    ]
  return [
    protocol === 'https:' || isLocal
      ? good('balancer', origin)
      : bad('balancer', `${origin} is not encrypted`, 'Let the balancer speak TLS, and publish the https address.'),
    checkPublicUrl(origin, metadata.body, settings),
    await checkExposure(origin),
    await checkAddress(origin, settings, database),
  ]
}

function checkPublicUrl(origin: string, metadata: JsonObject, { publicUrl }: AuthoritySettings): Finding {
  const endpoint = metadata['endpoint']
  if (endpoint === origin) return good('public-url', origin)
  const fix =
    publicUrl === undefined
      ? `Set NA_PUBLIC_URL=${origin}.`
      : `Set NA_PUBLIC_URL=${origin}, or ask for the address it names.`
  return bad('public-url', `documents name ${typeof endpoint === 'string' ? endpoint : 'no address'}`, fix)
}

/** The second path is the same for the authority, and another one for a rule that compares the written path. */
const METRICS_SPELLINGS = ['/metrics', '/%6detrics']

async function checkExposure(origin: string): Promise<Finding> {
  const answers = await Promise.all(METRICS_SPELLINGS.map((path) => askService(`${origin}${path}`)))
  const open = METRICS_SPELLINGS.filter((_path, index) => answers[index]?.status === 200)
  if (open.length === 0) return good('metrics-exposure', 'not reachable through the balancer')
  return warn(
    'metrics-exposure',
    `${open.map((path) => `${origin}${path}`).join(' and ')} is public`,
    'Set NA_MANAGEMENT_ADDR and let Prometheus ask there, or let the balancer decode the path and refuse /metrics.',
  )
}

/**
 * Sends one refused operator call with a forged X-Forwarded-For and reads from its audit event which address was used.
 * Limits are counted by that address (reliability 4).
 */
async function checkAddress(origin: string, settings: AuthoritySettings, database: Database): Promise<Finding> {
  const { proxyHops } = settings
  const requestId = `doctor-${randomBytes(8).toString('hex')}`
  await askService(`${origin}/admin/policy/history`, {
    'X-Request-Id': requestId,
    'X-Forwarded-For': FORGED_ADDRESS,
    'X-Admin-Key-Id': 'chancery-doctor',
  })
  const seen = await findAddress(database, requestId)
  if (seen === undefined) return skipped('proxy-hops', 'the probe left no audit event')
  if (seen === FORGED_ADDRESS)
    return bad(
      'proxy-hops',
      `a caller's own X-Forwarded-For is trusted (NA_PROXY_HOPS=${proxyHops})`,
      'Set NA_PROXY_HOPS to the number of proxies in front, and let the outermost one append to the header.',
    )
  if (proxyHops === 0 && origin === ownOrigin(settings)) return good('proxy-hops', 'asked without a proxy')
  if (proxyHops === 0)
    return warn(
      'proxy-hops',
      `every caller counts as ${seen} (NA_PROXY_HOPS=0)`,
      'Set NA_PROXY_HOPS=1 if that is the balancer: otherwise all callers share one limit.',
    )
  return good('proxy-hops', `this machine counts as ${seen}`)
}

async function findAddress(database: Database, requestId: string): Promise<string | undefined> {
  // Refused callers are recorded in batches, shortly after the response.
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const texts = await listNewestEvents(database.read, ['admin_auth_failed', 'admin_auth_throttled'], RECENT)
    const text = texts.find((event) => event.includes(requestId))
    if (text !== undefined) return /"remote_addr": ?"([^"]*)"/.exec(text)?.[1]
    await pause(100)
  }
  return undefined
}
