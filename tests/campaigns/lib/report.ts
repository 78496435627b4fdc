/** What `npm run campaign -- … --report FILE` writes, one JSON text per line. */
export interface CampaignLine {
  readonly name: string
  readonly seed: number
  readonly state: 'started' | 'ended' | 'failed'
  readonly cases?: number
  readonly violations?: number
}

/** A campaign that a person must look at. */
interface FailedCampaign {
  readonly name: string
  readonly seed: number
  readonly reason: string
}

/**
 * Returns the campaigns of one report that have violations, threw, or started and did not end, such as one that the
 * time limit of the job ended. An unreadable line is a failure, too: a report that cannot be read proves nothing.
 */
export function failedCampaigns(text: string): readonly FailedCampaign[] {
  const open = new Map<string, FailedCampaign>()
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const entry = readLine(line)
    if (entry === undefined) {
      open.set(line, { name: 'unreadable line', seed: 0, reason: JSON.stringify(line.slice(0, 80)) })
      continue
    }
    const { name, seed, state, cases = 0, violations = 0 } = entry
    if (state === 'started') open.set(name, { name, seed, reason: 'did not end' })
    else if (state === 'failed') open.set(name, { name, seed, reason: 'ended with an error' })
    else if (violations > 0) open.set(name, { name, seed, reason: `${violations} violations in ${cases} cases` })
    else open.delete(name)
  }
  return [...open.values()]
}

/** Counts the campaigns that ended, with or without violations. */
export function countEnded(text: string): number {
  return text.split('\n').filter((line) => readLine(line)?.state === 'ended').length
}

function readLine(line: string): CampaignLine | undefined {
  try {
    const value = JSON.parse(line) as Partial<CampaignLine> | null
    const isState = value?.state === 'started' || value?.state === 'ended' || value?.state === 'failed'
    if (!isState || !/^[a-z][a-z0-9-]{0,60}$/.test(value.name ?? '') || !Number.isSafeInteger(value.seed))
      return undefined
    // An end without its number of violations proves nothing.
    if (value.state === 'ended' && !(Number.isSafeInteger(value.violations) && Number.isSafeInteger(value.cases)))
      return undefined
    return value as CampaignLine
  } catch {
    return undefined
  }
}
