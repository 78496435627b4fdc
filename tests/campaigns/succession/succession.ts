import { type CampaignOptions, type CampaignResult, runCases, runParts } from '../lib/campaign.ts'
import { seededRandom } from '../lib/random.ts'
import { rehearseSuccession } from './rehearsal.ts'
import { SuccessionRounds, type Undone } from './rounds.ts'

export const summary =
  'a new key takes over under load: --case live with nodes, gateways, an auditor and a partner, none is lost; --case stopped by commands'
/** Number of successions; `--nodes` is the number of nodes of a live one. */
export const defaultCount = 40

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runParts(options, [
    { name: 'live', percent: 50, run: runLive },
    { name: 'stopped', percent: 50, run: runStopped },
  ])
}

const DEFAULT_NODES = 300
const MAX_PRINTED = 50

/** Without a stop. An even seed runs on SQLite, an odd one on PostgreSQL. */
async function runLive({ count, seed, log, nodes = DEFAULT_NODES }: CampaignOptions): Promise<CampaignResult> {
  const backend = seed % 2 === 0 ? 'sqlite' : 'postgres'
  const rounds = new SuccessionRounds(seededRandom(seed), backend)
  const started = performance.now()
  const reported = new Set<string>()
  let done = 0
  /** Printed at once, so that a stopped run has reported them. */
  const tell = (): void => {
    const news = rounds.allFound().filter((line) => !reported.has(line))
    for (const line of news.slice(0, MAX_PRINTED)) log(`violation: ${line}`)
    for (const line of news) reported.add(line)
  }
  try {
    await rounds.open(nodes)
    log(JSON.stringify({ backend, nodes, seconds: secondsSince(started) }))
    for (; done < count; done += 1) {
      const at = performance.now()
      const facts = await rounds.succeed(done, undoneIn(done, count))
      log(JSON.stringify({ round: done, seconds: secondsSince(at), ...facts }))
      tell()
    }
    await rounds.finish()
  } catch (error) {
    rounds.found.push(`ended in round ${done}: ${describe(error)}`)
  } finally {
    await rounds.close()
  }
  tell()
  log(JSON.stringify({ seconds: secondsSince(started), rotations: done, ...rounds.figures() }))
  return { cases: done, violations: rounds.allFound().length }
}

/** The second succession is undone after its switch, the fourth before it; in a short run the last one after it. */
function undoneIn(round: number, count: number): Undone | undefined {
  if (round === Math.min(1, count - 1)) return 'after the switch'
  return round === 3 ? 'before the switch' : undefined
}

function secondsSince(started: number): number {
  return Math.round((performance.now() - started) / 1000)
}

function describe(error: unknown): string {
  return (error instanceof Error ? (error.stack ?? error.message) : String(error)).slice(0, 2000)
}

/** The authority is stopped between the keys: no valid certificate is refused, no invalid one accepted, nothing is lost. */
function runStopped(options: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(options.seed)
  return runCases(options, async (round) => {
    const backend = round % 2 === 0 ? 'postgres' : 'sqlite'
    const { found, facts } = await rehearseSuccession(backend, random)
    options.log(JSON.stringify({ round, backend, ...facts }))
    return found
  })
}
