import type { CampaignOptions, CampaignResult } from './campaign.ts'

const SHOWN = 10

/** One case: in which way something was changed, and what was wrong with the answer. */
export interface Tried {
  readonly way: string
  readonly problem: string | undefined
}

/** Tries so many changes, and counts them by way. One that is not detected is a violation. */
export async function tryWays(
  { count, log }: CampaignOptions,
  tryOne: (index: number) => Promise<Tried>,
): Promise<CampaignResult> {
  const ways = new Map<string, number>()
  let violations = 0
  for (let index = 0; index < count; index += 1) {
    const { way, problem } = await tryOne(index)
    ways.set(way, (ways.get(way) ?? 0) + 1)
    if (problem === undefined) continue
    violations += 1
    if (violations <= SHOWN) log(`violation: case ${index}, ${way}: ${problem}`)
  }
  log([...ways].map(([way, times]) => `${way}: ${times}`).join(', '))
  return { cases: count, violations }
}
