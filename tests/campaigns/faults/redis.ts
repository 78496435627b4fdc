import { setTimeout as pause } from 'node:timers/promises'
import { type TemporaryRedis, startTemporaryRedis } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { callFrom, startInstances } from '../lib/instances.ts'

export const summary = 'Redis down, slow and flushed under the limiter of three instances: never unlimited, never a 503'
export const defaultCount = 9

const LIMIT = 20
const FAULTS = ['down', 'slow', 'flushed'] as const

/**
 * Each case breaks Redis during a burst of three times the limit. A window that moves to the database starts again
 * there, and the minute may end meanwhile. So at most four times the limit may pass; each further request is a
 * violation.
 */
export async function run({ count, log }: CampaignOptions): Promise<CampaignResult> {
  const redis = await startTemporaryRedis()
  const setup = await startInstances(0, { REDIS_URL: redis.url, NA_RATE_LIMIT_VERIFY_PER_MINUTE: String(LIMIT) })
  const urls = setup.instances.instanceUrls
  let violations = 0
  try {
    for (let index = 0; index < count; index += 1) {
      const fault = FAULTS[index % FAULTS.length] ?? 'down'
      const address = `192.0.2.${(index % 250) + 1}`
      const burst = (): Promise<number[]> =>
        Promise.all(
          Array.from({ length: 3 * LIMIT }, async (_, n) => {
            const answer = await callFrom(urls[n % urls.length] ?? '', address, 'POST', '/attestations/verify', {})
            return answer.status
          }),
        )
      const before = await burst()
      await inject(redis, fault)
      const during = await burst()
      await heal(redis, fault)
      const after = await burst()
      const all = [...before, ...during, ...after]
      const passed = all.filter((status) => status !== 429).length
      const failed = all.filter((status) => status >= 500).length
      if (passed > 4 * LIMIT || failed > 0) {
        violations += 1
        log(`violation: case ${index}, Redis ${fault}: ${passed} passed a limit of ${LIMIT}, ${failed} failed`)
      }
    }
  } finally {
    redis.thaw()
    if ((await setup.close()) !== 0) violations += 1
    await redis.stop()
  }
  return { cases: count, violations }
}

async function inject(redis: TemporaryRedis, fault: (typeof FAULTS)[number]): Promise<void> {
  if (fault === 'down') await redis.stop()
  else if (fault === 'slow') redis.freeze()
  else await redis.command('flushall')
}

async function heal(redis: TemporaryRedis, fault: (typeof FAULTS)[number]): Promise<void> {
  if (fault === 'down') await redis.start()
  if (fault === 'slow') redis.thaw()
  // Long enough for the limiter to connect again.
  await pause(2500)
}
