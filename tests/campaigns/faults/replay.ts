import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { signedNow, startInstances } from '../lib/instances.ts'
import { seededRandom } from '../lib/random.ts'

export const summary =
  'an operator key revoked on one of three instances, and calls captured there, tried on all of them'
export const defaultCount = 200

/**
 * Each case: a key is accepted by all instances, is revoked on one, and is then refused by all at once, like a repeated
 * call.
 */
export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const setup = await startInstances(count)
  const urls = setup.instances.instanceUrls
  let violations = 0
  const violation = (sentence: string): void => {
    violations += 1
    log(`violation: ${sentence}`)
  }
  const history = '/admin/policy/history'
  try {
    for (let index = 0; index < count; index += 1) {
      const key = `op-${index}`
      const captured = signedNow(`captured-${index}`)
      const first = random.below(urls.length)
      const accepted = await setup.call(urls[first] ?? '', key, 'GET', history, undefined, captured)
      if (accepted.status !== 200) violation(`case ${index}: a usable key was answered ${accepted.status}`)
      const replays = await Promise.all(urls.map((url) => setup.call(url, key, 'GET', history, undefined, captured)))
      for (const answer of replays) if (answer.status !== 401) violation(`case ${index}: a replay got ${answer.status}`)
      for (const url of urls) await setup.call(url, key, 'GET', history)
      const at = random.below(urls.length)
      const target = `/admin/operator-keys/${key}/revoke`
      const revoked = await setup.call(urls[at] ?? '', 'op-privileged', 'POST', target, {})
      if (revoked.status !== 200) violation(`case ${index}: revoking was answered ${revoked.status}`)
      const uses = await Promise.all(urls.map((url) => setup.call(url, key, 'GET', history)))
      for (const answer of uses)
        if (answer.status !== 401) violation(`case ${index}: a revoked key got ${answer.status}`)
    }
  } finally {
    if ((await setup.close()) !== 0) violation('an instance did not end with 0')
  }
  return { cases: count, violations }
}
