import { setTimeout as pause } from 'node:timers/promises'
import { childPids, isRunning } from '@chancery/testkit'
import { checkEnrollment } from '../enrollment/checks.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { withRows } from '../lib/rows.ts'
import { openSetup, REFRESH_SECONDS, WORKERS, WorkersLoad, type WorkersSetup } from './load.ts'

const TARGETS = [
  { service: 'authority', part: 'worker' },
  { service: 'gateway', part: 'supervisor' },
  { service: 'gateway', part: 'worker' },
  { service: 'authority', part: 'supervisor' },
] as const

type Target = (typeof TARGETS)[number]

const BEFORE_KILL_MS = 3000
/** Workers end with their supervisor at once. The rest is for a busy machine. */
const ORPHANS_SECONDS = 5
const BACK_SECONDS = 60
/** The next read of the list, the lease of 2 s, and the rest for a busy machine. */
const FOLLOWED_SECONDS = REFRESH_SECONDS + 2 + 28
const CHECKED_REVOCATIONS = 50

/** kill -9 of a worker or a supervisor of an authority and a gateway under load: nothing acknowledged is lost. */
export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const setup = await openSetup()
  const load = new WorkersLoad(setup, random)
  const violations: string[] = []
  let longestBackMs = 0
  try {
    violations.push(...(await awaitService(setup, load)).found)
    load.start()
    for (let kill = 0; kill < count; kill += 1) {
      const target = TARGETS[kill % TARGETS.length] ?? TARGETS[0]
      const { found, backMs } = await runCase(setup, load, target, random)
      longestBackMs = Math.max(longestBackMs, backMs)
      violations.push(...found.map((sentence) => `kill ${kill + 1}, ${target.service} ${target.part}: ${sentence}`))
      log(`kill ${kill + 1} of ${count}, ${target.service} ${target.part}: back after ${Math.round(backMs)} ms`)
    }
    await load.stop()
    violations.push(...load.violations, ...(await checkDatabase(setup, load)))
  } finally {
    await load.stop()
    await setup.close()
  }
  for (const violation of violations.slice(0, 20)) log(`violation: ${violation}`)
  log(
    `${load.acks.size} acknowledged changes stored, ${load.acks.revocations.size} of them revocations; ` +
      `${load.verified} decisions of the gateway; longest time to serve again ${Math.round(longestBackMs)} ms`,
  )
  return { cases: count, violations: violations.length }
}

async function runCase(
  setup: WorkersSetup,
  load: WorkersLoad,
  target: Target,
  random: Random,
): Promise<{ readonly found: readonly string[]; readonly backMs: number }> {
  const found: string[] = []
  await pause(random.below(BEFORE_KILL_MS))
  const acknowledged = load.revocations.slice(-CHECKED_REVOCATIONS)
  const supervisor = setup[target.service]
  const workers = childPids(supervisor.pid)
  const killedAt = performance.now()
  if (workers.length === 0) throw new Error('no worker to kill')
  if (target.part === 'worker') process.kill(workers[random.below(workers.length)] ?? supervisor.pid, 'SIGKILL')
  else {
    await supervisor.kill()
    found.push(...(await awaitOrphans(workers)))
    await (target.service === 'authority' ? setup.startAuthority() : setup.startGateway())
  }
  const back = await awaitService(setup, load)
  const backMs = performance.now() - killedAt
  found.push(...back.found)
  let trusted: readonly string[] = acknowledged
  const isFollowed = await until(FOLLOWED_SECONDS, async () => {
    trusted = await load.trusted(trusted)
    return trusted.length === 0
  })
  if (!isFollowed) found.push(`the gateway still trusts ${trusted.join(', ')}`)
  found.push(...(await withRows(setup.database, (rows) => load.acks.check(rows))))
  return { found, backMs }
}

/** Both services do their work, with all workers. */
async function awaitService(setup: WorkersSetup, load: WorkersLoad): Promise<{ readonly found: readonly string[] }> {
  const found: string[] = []
  if (!(await until(BACK_SECONDS, () => load.probeAuthority()))) found.push('the authority does not serve')
  if (!(await until(BACK_SECONDS, () => load.probeGateway()))) found.push('the gateway does not serve')
  for (const service of ['authority', 'gateway'] as const) {
    const isComplete = await until(BACK_SECONDS, async () => childPids(setup[service].pid).length === WORKERS)
    if (!isComplete) found.push(`the ${service} has ${childPids(setup[service].pid).length} workers`)
  }
  return { found }
}

async function awaitOrphans(workers: readonly number[]): Promise<string[]> {
  const areGone = await until(ORPHANS_SECONDS, async () => !workers.some(isRunning))
  if (areGone) return []
  const left = workers.filter(isRunning)
  // They would keep the port.
  for (const pid of left) process.kill(pid, 'SIGKILL')
  return [`${left.length} workers run without their supervisor`]
}

async function checkDatabase({ database, network }: WorkersSetup, load: WorkersLoad): Promise<string[]> {
  const authorityKey = network.authority.publicKey
  return withRows(database, async (rows) => [
    ...(await load.acks.check(rows)),
    ...(await checkEnrollment(rows, { authorityKey })),
  ])
}

async function until(seconds: number, isDone: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + seconds * 1000
  while (performance.now() < end) {
    if (await isDone()) return true
    await pause(50)
  }
  return false
}
