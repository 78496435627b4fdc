import type { CampaignOptions, CampaignResult } from './campaign.ts'

/** A part of a campaign: one kind of thing that has the same promise. */
export interface Part {
  readonly name: string
  /** Of the cases of the whole campaign. */
  readonly percent: number
  run(options: CampaignOptions): Promise<CampaignResult>
}

/** Runs every part with its share of the cases; with `--case NAME` the parts of this name, with all of them. */
export async function runParts(options: CampaignOptions, all: readonly Part[]): Promise<CampaignResult> {
  const { count, only = '' } = options
  const parts = all.filter(({ name }) => name.includes(only))
  if (parts.length === 0)
    throw new TypeError(`no part is named ${only}; known: ${all.map(({ name }) => name).join(', ')}`)
  const whole = parts.reduce((sum, { percent }) => sum + percent, 0)
  let [cases, violations, left] = [0, 0, count]
  for (const [index, part] of parts.entries()) {
    const share = index === parts.length - 1 ? left : Math.min(left, Math.round((count * part.percent) / whole))
    left -= share
    if (share === 0) continue
    const result = await part.run({ ...options, count: share })
    options.log(`${part.name}: ${result.cases} cases, ${result.violations} violations`)
    cases += result.cases
    violations += result.violations
  }
  return { cases, violations }
}
