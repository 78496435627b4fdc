import { randomInt } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Campaign, CampaignOptions } from './lib/campaign.ts'
import type { CampaignLine } from './lib/report.ts'

/** Loaded when needed: a campaign may require a database or a browser. */
const CAMPAIGNS = new Map<string, () => Promise<Campaign>>([
  ['approvals', () => import('./trust/approvals.ts')],
  ['audit-forward', () => import('./audit/forward.ts')],
  ['ci', () => import('./ci.ts')],
  ['clock', () => import('./clock/clock.ts')],
  ['consensus-model', () => import('./trust/consensus-model.ts')],
  ['console-hostile', () => import('./console/hostile.ts')],
  ['crl-delta', () => import('./gateway/crl-delta.ts')],
  ['database-kills', () => import('./faults/database-kills.ts')],
  ['disk-full', () => import('./operate/disk-full.ts')],
  ['discovery-model', () => import('./enrollment/discovery-model.ts')],
  ['failover', () => import('./faults/failover.ts')],
  ['federation-model', () => import('./federation/federation-model.ts')],
  ['gateway-backlog', () => import('./gateway/backlog.ts')],
  ['gateway-damage', () => import('./gateway/damage.ts')],
  ['gateway-lists', () => import('./gateway/lists.ts')],
  ['gateway-proxy', () => import('./gateway/proxy.ts')],
  ['growth-year', () => import('./growth/growth-year.ts')],
  ['hostile', () => import('./hostile/hostile.ts')],
  ['http-check', () => import('./gateway/http-check.ts')],
  ['json-differential', () => import('./trust/json-differential.ts')],
  ['kills', () => import('./faults/kills.ts')],
  ['mcp-guard', () => import('./mcp/guard.ts')],
  ['merkle', () => import('./evidence/merkle.ts')],
  ['pack-histories', () => import('./evidence/pack-histories.ts')],
  ['million-nodes', () => import('./fleet/million-nodes.ts')],
  ['operate', () => import('./operate/operate.ts')],
  ['outside-reader', () => import('./faults/outside-reader.ts')],
  ['partner-hostile', () => import('./federation/partner-hostile.ts')],
  ['partition', () => import('./faults/partition.ts')],
  ['paused-lease', () => import('./faults/paused-lease.ts')],
  ['policy-differential', () => import('./trust/policy-differential.ts')],
  ['process-kills', () => import('./faults/process-kills.ts')],
  ['races', () => import('./faults/races.ts')],
  ['redis', () => import('./faults/redis.ts')],
  ['replay', () => import('./faults/replay.ts')],
  ['restore', () => import('./faults/restore.ts')],
  ['rolling', () => import('./faults/rolling.ts')],
  ['sdk-fleet', () => import('./sdk/nodes.ts')],
  ['sdk-outbox', () => import('./sdk/outbox.ts')],
  ['succession', () => import('./succession/succession.ts')],
  ['tamper', () => import('./evidence/tamper.ts')],
  ['trust-mutation', () => import('./trust/mutation.ts')],
  ['trusted-at', () => import('./history/trusted-at.ts')],
  ['witness', () => import('./evidence/witness.ts')],
  ['weak-keys', () => import('./trust/weak-keys.ts')],
])

/** Names that stay: a case of another campaign. */
const CASES = new Map<string, readonly [campaign: string, part: string]>([
  ['gateway-kills', ['process-kills', 'gateway']],
  ['succession-live', ['succession', 'live']],
])

const USAGE =
  'npm run campaign -- NAME [--count N] [--seed S] [--nodes N] [--minutes M] [--pace SECONDS] [--mode strict|gathered] [--workers N] [--case PART-OF-NAME], or --list, or --all [--part N/N] [--seed S]; --report FILE'

// Services that a campaign started are ended at its exit, which a signal alone does not cause.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
process.exitCode = await main(process.argv.slice(2))

/** Returns 0 without violations, 1 with violations, 2 for a usage error. */
async function main(args: string[]): Promise<number> {
  const call = readCall(args)
  if (typeof call === 'string') {
    process.stderr.write(`${call}\n${USAGE}\n`)
    return 2
  }
  if (call.list) {
    for (const [name, load] of CAMPAIGNS) print(`${name}: ${(await load()).summary}`)
    return 0
  }
  if (call.all) return runAll(call)
  const [name, only] = CASES.get(call.name) ?? [call.name, call.more.only]
  const load = CAMPAIGNS.get(name)
  if (load === undefined) {
    process.stderr.write(`no campaign ${JSON.stringify(call.name)}; known: ${[...CAMPAIGNS.keys()].join(', ')}\n`)
    return 2
  }
  return runOne(call.name, load, { ...call, more: { ...call.more, ...(only === undefined ? {} : { only }) } })
}

/** Runs every campaign with its default count. One that throws counts as violated, and the next one runs. */
async function runAll(call: Call): Promise<number> {
  const failed: string[] = []
  // The parts of `ci` run with their own counts.
  const names = [...CAMPAIGNS].filter(([name]) => name !== 'ci')
  for (const [name, load] of names.filter((_, index) => index % call.parts === call.part - 1)) {
    try {
      if ((await runOne(name, load, call)) !== 0) failed.push(name)
    } catch (error) {
      print(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
      report(call, { name, seed: call.seed, state: 'failed' })
      failed.push(name)
    }
  }
  print(failed.length === 0 ? 'no violations' : `violations in ${failed.join(', ')}, seed ${call.seed}`)
  return failed.length === 0 ? 0 : 1
}

async function runOne(name: string, load: () => Promise<Campaign>, call: Call): Promise<number> {
  // Printed first, so that a campaign that never ends can be repeated.
  print(`seed ${call.seed}`)
  report(call, { name, seed: call.seed, state: 'started' })
  const campaign = await load()
  const count = call.count ?? campaign.defaultCount
  const { cases, violations, figures } = await campaign.run({ count, seed: call.seed, log: print, ...call.more })
  print(JSON.stringify({ name, cases, violations, seed: call.seed, ...figures }))
  report(call, { name, seed: call.seed, state: 'ended', cases, violations })
  return violations > 0 ? 1 : 0
}

/** Written at once, so that a campaign that never ends has its name and seed in the file. */
function report({ report: file }: Call, line: CampaignLine): void {
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`)
}

interface Call {
  readonly name: string
  readonly list: boolean
  readonly all: boolean
  readonly count: number | undefined
  readonly seed: number
  /** Options that only some campaigns have. */
  readonly more: Pick<CampaignOptions, 'nodes' | 'minutes' | 'pace' | 'mode' | 'workers' | 'only'>
  /** With `--all --part 2/4` every fourth campaign, from the second on. */
  readonly part: number
  readonly parts: number
  /** File that gets a line when a campaign starts and ends; `npm run nightly:report` reads it. */
  readonly report: string | undefined
}

function readCall(args: string[]): Call | string {
  const options = {
    list: { type: 'boolean' },
    all: { type: 'boolean' },
    count: { type: 'string' },
    seed: { type: 'string' },
    nodes: { type: 'string' },
    minutes: { type: 'string' },
    pace: { type: 'string' },
    mode: { type: 'string' },
    workers: { type: 'string' },
    case: { type: 'string' },
    part: { type: 'string', default: '1/1' },
    report: { type: 'string' },
  } as const
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    const [name = '', ...others] = positionals
    const { list = false, all = false } = values
    if (others.length > 0 || (name === '') !== (list || all)) return 'name one campaign'
    const count = values.count === undefined ? undefined : readWhole(values.count, 1, 1e9)
    const seed = values.seed === undefined ? randomInt(2 ** 32) : readWhole(values.seed, 0, 2 ** 32 - 1)
    const more = readMore({ ...values, only: values.case })
    const [, part, parts] = /^(\d{1,3})\/(\d{1,3})$/.exec(values.part)?.map(Number) ?? []
    if (part === undefined || parts === undefined || part < 1 || part > parts)
      return `${values.part} is not a part such as 2/4`
    return { name, list, all, count, seed, more, part, parts, report: values.report }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function readMore(values: Readonly<Partial<Record<keyof Call['more'], string | undefined>>>): Call['more'] {
  const { nodes, minutes, pace, mode, workers, only } = values
  if (mode !== undefined && mode !== 'strict' && mode !== 'gathered')
    throw new TypeError(`${mode} is not strict or gathered`)
  return {
    ...(nodes === undefined ? {} : { nodes: readWhole(nodes, 1, 1e7) }),
    ...(minutes === undefined ? {} : { minutes: readWhole(minutes, 1, 1440) }),
    // As NA_HEARTBEAT_SECONDS.
    ...(pace === undefined ? {} : { pace: readWhole(pace, 10, 900) }),
    ...(mode === undefined ? {} : { mode }),
    ...(workers === undefined ? {} : { workers: readWhole(workers, 1, 64) }),
    ...(only === undefined ? {} : { only }),
  }
}

function readWhole(text: string, min: number, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : -1
  if (value < min || value > max) throw new TypeError(`${text} is not a whole number from ${min} to ${max}`)
  return value
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
