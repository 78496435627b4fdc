import { type GenesisBlock, instantOf } from '@chancery/protocol'
import { verifyPack, explainPack, readPack, writePack } from '@chancery/sdk/evidence'
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
      for (const { pack, pins, keyHistory } of packs) {
        const text = writePack(pack)
        bytes.push(text.length)
        const read = readPack(text)
        const report = await verifyPack(read, { genesis: pins.at(-1), keyHistory })
        const problems = explainPack(read, report) === undefined ? ['the decision is not explained'] : []
        for (const genesis of [undefined, ...pins]) {
          // Each reader has the history of the block it trusts; only that of the newest block lists all former keys.
          const trust = genesis === pins.at(-1) ? { genesis, keyHistory } : { genesis }
          const { valid, checks } = await verifyPack(read, trust)
          const failed = checks.filter(({ status }) => status === 'failed')
          const isEarlier = genesis !== undefined && isNewer(genesis, read.genesis)
          const isExpected = genesis === undefined ? !valid && failed.length === 0 : valid
          if (isExpected || (isEarlier && failed.every(({ name }) => name === 'root_key'))) continue
          problems.push(
            failed.map(({ name, detail }) => `${name}: ${detail ?? ''}`).join(', ') || 'valid without a pin',
          )
        }
        for (const { name, status } of report.checks) addTo(events, `${name} ${status}`)
        if (!report.valid) problems.push('not valid under the newest pin')
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

function isNewer(one: GenesisBlock, other: GenesisBlock): boolean {
  return instantOf(one.network_authority.valid_from) > instantOf(other.network_authority.valid_from)
}

function addTo(counts: Map<string, number>, name: string, times = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + times)
}
