/** Input of every campaign; the same seed and count must give the same cases. */
export interface CampaignOptions {
  readonly count: number
  readonly seed: number
  readonly log: (line: string) => void
  /** Number of nodes, for campaigns that have them. */
  readonly nodes?: number
  /** Length of the run, for campaigns that run for a time. */
  readonly minutes?: number
  /** Heartbeat interval in seconds. */
  readonly pace?: number
  /** How the authority stores heartbeats. */
  readonly mode?: 'strict' | 'gathered'
  /** Worker processes of the authority. */
  readonly workers?: number
  /** Only the cases whose name contains this, for campaigns that have named cases. */
  readonly only?: string
}

export interface CampaignResult {
  readonly cases: number
  readonly violations: number
  /** What was measured, printed with the result. */
  readonly figures?: Readonly<Record<string, number | string>>
}

/** The exports of `tests/campaigns/<name>.ts`. */
export interface Campaign {
  readonly summary: string
  readonly defaultCount: number
  run(options: CampaignOptions): Promise<CampaignResult>
}

/** A part of a campaign: one kind of thing that has the same promise. */
interface Part {
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

const SHOWN = 10

/** One case: in which way something was changed, and what was wrong with the answer. */
interface Tried {
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

const AT_ONCE = 8

/** Runs a task so many times, several at once. */
export async function inTurns(times: number, task: (at: number) => Promise<void>): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < times) {
      const at = next
      next += 1
      await task(at)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

const MAX_SENTENCES = 20

/** Logs the first violations, and returns the result. */
export function conclude(log: (line: string) => void, cases: number, violations: readonly string[]): CampaignResult {
  for (const violation of violations.slice(0, MAX_SENTENCES)) log(`violation: ${violation}`)
  return { cases, violations: violations.length }
}

/** Runs the cases one after the other. Each returns its violations. */
export async function runCases(
  { count, log }: Pick<CampaignOptions, 'count' | 'log'>,
  runCase: (index: number) => Promise<readonly string[]>,
): Promise<CampaignResult> {
  let violations = 0
  for (let index = 0; index < count; index += 1) {
    const found = await runCase(index)
    violations += found.length
    for (const sentence of found.slice(0, MAX_SENTENCES)) log(`violation: case ${index}: ${sentence}`)
  }
  return { cases: count, violations }
}
