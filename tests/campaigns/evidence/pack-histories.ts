import { checkEvidencePack, explainEvidencePack, readEvidencePack, writeEvidencePack } from '@chancery/sdk'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { seededRandom } from '../lib/random.ts'
import { PackScenario } from './pack-scenario.ts'

export const summary =
  'evidence packs of random histories with revocations, new keys, retention and partners: each verifies under each pin'
export const defaultCount = 1000

const PER_SCENARIO = 20
const SHOWN = 10

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const events = new Map<string, number>()
  const bytes: number[] = []
  let violations = 0
  for (let done = 0; done < count;) {
    const scenario = await PackScenario.open(random)
    try {
      const packs = await scenario.make(Math.min(PER_SCENARIO, count - done))
      for (const { pack, pins } of packs) {
        const text = writeEvidencePack(pack)
        bytes.push(text.length)
        const read = readEvidencePack(text)
        const problems = explainEvidencePack(read) === undefined ? ['the decision is not explained'] : []
        for (const genesis of [undefined, ...pins]) {
          const { valid, checks } = await checkEvidencePack(read, { genesis })
          if (valid) continue
          const failed = checks.filter(({ status }) => status === 'failed')
          problems.push(failed.map(({ name, detail }) => `${name}: ${detail ?? ''}`).join(', '))
        }
        for (const { name, status } of (await checkEvidencePack(read, { genesis: pins.at(-1) })).checks)
          addTo(events, `${name} ${status}`)
        if (problems.length === 0) continue
        violations += 1
        if (violations <= SHOWN) log(`violation: pack ${done}: ${problems.join('; ')}`)
      }
      for (const [name, times] of scenario.events) addTo(events, name, times)
      done += packs.length
    } finally {
      await scenario.close()
    }
  }
  log([...events].map(([name, times]) => `${name}: ${times}`).join(', '))
  log(
    `bytes of a pack: largest ${Math.max(...bytes)}, mean ${Math.round(bytes.reduce((a, b) => a + b, 0) / bytes.length)}`,
  )
  return { cases: count, violations }
}

function addTo(counts: Map<string, number>, name: string, times = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + times)
}
