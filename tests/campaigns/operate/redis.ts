import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readJson, writeJson } from '@chancery/protocol'
import { startGatewayProcess, startTemporaryRedis, testClient, testNetwork, testPolicy } from '@chancery/testkit'
import type { GatewayProcess, TemporaryRedis } from '@chancery/testkit'
import { checkPromises } from '../faults/fault-checks.ts'
import { type FaultInstances, openFaultInstances } from '../faults/fault-instances.ts'
import { FaultRecorder } from '../faults/fault-recorder.ts'
import { readGauge } from '../lib/loop-probe.ts'
import { startOwnServer } from '../lib/private-postgres.ts'
import type { Random } from '../lib/random.ts'
import { type Rows, withRows } from '../lib/rows.ts'
import { Alarms, type ScrapeTarget } from './alarms.ts'
import { authorityTargets, Findings, healthOf, type OperateCase, SCRAPES_AFTER, WITHOUT_STANDBY } from './tools.ts'

const LIMIT = 20
const BACK_SECONDS = 20
/** A call of Redis may take 100 ms, which a busy machine sometimes exceeds. */
const STILL_SECONDS = 60
const WATCHER = testClient('watcher', [], { metrics: true })

/** Redis fails while it counts the limits of two instances and the shared quotas of a gateway. */
export const redisGone: OperateCase = {
  name: 'Redis gone',
  async run(random) {
    const redis = await startTemporaryRedis()
    const server = await startOwnServer()
    try {
      const database = await server.createDatabase()
      const url = database.settings['DATABASE_URL'] ?? ''
      const instances = await openFaultInstances({
        databaseUrl: () => url,
        settings: {
          RATE_LIMIT_STORE: 'redis',
          REDIS_URL: redis.url,
          NA_RATE_LIMIT_VERIFY_PER_MINUTE: String(LIMIT),
        },
        instances: 2,
      })
      try {
        return await withRows(database, (rows) => stopAndStart({ instances, redis, rows, random }))
      } finally {
        await instances.close()
      }
    } finally {
      redis.thaw()
      await redis.stop()
      await server.remove()
    }
  },
}

interface Setup {
  readonly instances: FaultInstances
  readonly redis: TemporaryRedis
  readonly rows: Rows
  readonly random: Random
}

async function stopAndStart({ instances, redis, rows, random }: Setup): Promise<readonly string[]> {
  const findings = new Findings()
  const recorder = new FaultRecorder(instances, random)
  await recorder.open()
  const { gateway, home } = await openQuotaGateway(instances, redis)
  try {
    const alarms = await Alarms.open([...authorityTargets(instances.processes), gatewayTarget(() => gateway)])
    recorder.start()
    await alarms.scrape(12, 150)
    alarms.expect('before', [])
    const isFrozen = random.chance(50)
    if (isFrozen) redis.freeze()
    else await redis.stop()
    // Eleven minutes of rule time: the alert waits for five, over a range of five.
    await alarms.scrape(44, 250)
    await whileGone(instances, gateway, findings)
    alarms.expect('while Redis is gone', ['ChanceryLimiterFallback', 'ChanceryInstanceDown'], WITHOUT_STANDBY)
    if (isFrozen) redis.thaw()
    else await redis.start()
    await findings.until(
      'the gateway is ready again',
      BACK_SECONDS,
      async () => (await gateway.request('GET', '/ready')).status === 200,
    )
    for (const [index, process] of instances.processes.entries())
      await findings.until(`instance ${index + 1} counts in Redis again`, BACK_SECONDS, async () =>
        (await process.request('GET', '/readyz')).text.includes('"rate_limiter":"redis"'),
      )
    await recorder.stop()
    await findings.until('the fallback counters stand still', STILL_SECONDS, () => standStill(instances))
    await alarms.scrape(SCRAPES_AFTER, 60)
    alarms.expect('after Redis is back', [], WITHOUT_STANDBY)
    findings.require(
      recorder.unavailable + recorder.unknown === 0,
      `${recorder.unavailable} changes were refused, ${recorder.unknown} are unknown`,
    )
    return [...findings.violations, ...(await checkPromises(instances, recorder, rows)), ...(await alarms.verdict())]
  } finally {
    await recorder.stop()
    await gateway.stop()
    await rm(home, { recursive: true, force: true })
  }
}

/** The check of docs/operate/incidents.md. */
async function standStill({ processes }: FaultInstances): Promise<boolean> {
  const count = (): Promise<number[]> =>
    Promise.all(processes.map(({ url }) => readGauge(url, 'chancery_limiter_fallbacks_total')))
  const before = await count()
  if (!before.every(Number.isFinite)) return false
  await pause(3000)
  return (await count()).join() === before.join()
}

async function whileGone(instances: FaultInstances, gateway: GatewayProcess, findings: Findings): Promise<void> {
  for (const [index, process] of instances.processes.entries()) {
    const name = `instance ${index + 1}`
    const ready = await process.request('GET', '/readyz')
    findings.require(ready.status === 200, `${name} is not ready without Redis`)
    findings.require(ready.text.includes('"rate_limiter":"database"'), `${name} does not say who counts`)
    const { status, reasons } = await healthOf(process)
    findings.require(
      status === 'degraded' && reasons.includes('limiter_fallback'),
      `${name}: /health says ${reasons.join(', ')}`,
    )
  }
  const ready = await gateway.request('GET', '/ready')
  findings.require(
    ready.status === 503 && ready.text.includes('"quota":false'),
    `the gateway answered ${ready.status} to /ready`,
  )
  // Three times the limit, spread over both instances: the window may end once in between.
  const urls = instances.processes
  const statuses = await Promise.all(
    Array.from(
      { length: 3 * LIMIT },
      async (_, n) => (await urls[n % urls.length]?.request('POST', '/attestations/verify', { body: {} }))?.status ?? 0,
    ),
  )
  const passed = statuses.filter((status) => status !== 429).length
  findings.require(passed <= 2 * LIMIT, `${passed} calls passed a limit of ${LIMIT}`)
  findings.require(
    statuses.every((status) => status < 500),
    'calls failed for want of Redis',
  )
}

async function openQuotaGateway(
  instances: FaultInstances,
  redis: TemporaryRedis,
): Promise<{ gateway: GatewayProcess; home: string }> {
  const { network, processes } = instances
  const home = await mkdtemp(join(tmpdir(), 'chancery-quota-'))
  const list = readJson((await processes[0]?.request('GET', '/crl'))?.text ?? '') as never
  const by = { network: network.name, keyId: network.authority.keyId, signer: network.authority }
  const policy = testPolicy({ [network.name]: testNetwork(by, list) }, [WATCHER])
  await writeFile(join(home, 'policy.json'), writeJson(policy), { mode: 0o600 })
  await writeFile(join(home, 'redis'), redis.url, { mode: 0o600 })
  const gateway = await startGatewayProcess({
    GATEWAY_POLICY_FILE: join(home, 'policy.json'),
    GATEWAY_REDIS_URL_FILE: join(home, 'redis'),
    GATEWAY_QUOTA_NAMESPACE: 'operate',
    GATEWAY_LOG_LEVEL: 'error',
  })
  if (gateway === undefined) throw new Error('the gateway did not start')
  return { gateway, home }
}

function gatewayTarget(current: () => GatewayProcess | undefined): ScrapeTarget {
  return {
    job: 'chancery-gateway',
    instance: 'gw1',
    async read() {
      const answer = await current()?.request('GET', '/metrics', { token: WATCHER.token })
      if (answer?.status !== 200) throw new Error(`/metrics answered ${answer?.status ?? 'nothing'}`)
      return answer.text
    },
  }
}
