import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { rehearseSuccession } from '../succession/rehearsal.ts'
import { seededRandom } from '../lib/random.ts'

export const summary =
  'a new key takes over under load: no valid certificate refused, no invalid one accepted, nothing lost'
export const defaultCount = 20

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  let violations = 0
  for (let round = 0; round < count; round += 1) {
    const backend = round % 2 === 0 ? ('postgres' as const) : ('sqlite' as const)
    const { found, facts } = await rehearseSuccession(backend, random)
    for (const line of found) log(`violation: round ${round}: ${line}`)
    log(JSON.stringify({ round, backend, ...facts }))
    violations += found.length
  }
  return { cases: count, violations }
}
