import type { CampaignOptions, CampaignResult } from './campaign.ts'
import { startFleet } from './instances.ts'
import type { Fleet } from './instances.ts'
import { seededRandom } from './random.ts'

export const summary = 'instances restarted one by one under load behind the balancer: no request may fail'
export const defaultCount = 5

const WORKERS = 6

/** Each case restarts one instance. Reads and writes go on meanwhile; every answer must be the one without a restart. */
export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const fleet = await startFleet(0)
  let violations = 0
  let served = 0
  let isDone = false
  const violation = (sentence: string): void => {
    violations += 1
    log(`violation: ${sentence}`)
  }
  const work = async (worker: number): Promise<void> => {
    for (let step = 0; !isDone; step += 1) {
      const expected = step % 3 === 0 ? 201 : 200
      const status = await one(fleet, worker, step).catch((error: unknown) => String(error))
      if (status === expected) served += 1
      else violation(`worker ${worker}, request ${step}: ${status}`)
    }
  }
  try {
    const workers = Array.from({ length: WORKERS }, (_, worker) => work(worker))
    for (let index = 0; index < count; index += 1) {
      const code = await fleet.instances.restart(random.below(fleet.instances.instanceUrls.length))
      if (code !== 0) violation(`restart ${index}: the instance ended with ${code}`)
    }
    isDone = true
    await Promise.all(workers)
  } finally {
    isDone = true
    if ((await fleet.close()) !== 0) violation('an instance did not end with 0')
  }
  log(`${served} requests were served`)
  return { cases: count, violations }
}

async function one(fleet: Fleet, worker: number, step: number): Promise<number> {
  const { url } = fleet.instances
  if (step % 3 === 0) return (await fleet.call(url, 'op-standard', 'POST', '/admin/invite', {})).status
  if (step % 3 === 1) return (await fleet.call(url, 'op-standard', 'GET', '/admin/policy/history')).status
  return (await fetch(`${url}/crl`, { headers: { 'X-Request-ID': `w${worker}-${step}` } })).status
}
