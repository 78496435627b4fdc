import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import type { Campaign } from './campaign.ts'

/** Loaded when asked for: a campaign may need a database or a browser that the others do not. */
const CAMPAIGNS = new Map<string, () => Promise<Campaign>>([
  ['audit-forward', () => import('./audit-forward.ts')],
  ['ci', () => import('./ci.ts')],
  ['clock', () => import('./clock.ts')],
  ['consensus-model', () => import('./consensus-model.ts')],
  ['console-map', () => import('./console-map.ts')],
  ['console-payloads', () => import('./console-payloads.ts')],
  ['crl-large', () => import('./crl-large.ts')],
  ['database-kills', () => import('./database-kills.ts')],
  ['discovery-model', () => import('./discovery-model.ts')],
  ['enrollment-kills', () => import('./enrollment-kills.ts')],
  ['enrollment-mass', () => import('./enrollment-mass.ts')],
  ['enrollment-races', () => import('./enrollment-races.ts')],
  ['evidence-checkpoints', () => import('./evidence-checkpoints.ts')],
  ['evidence-kills', () => import('./evidence-kills.ts')],
  ['evidence-server-kills', () => import('./evidence-server-kills.ts')],
  ['evidence-tamper', () => import('./evidence-tamper.ts')],
  ['failover', () => import('./failover.ts')],
  ['feed-orders', () => import('./feed-orders.ts')],
  ['gateway-backlog', () => import('./gateway-backlog.ts')],
  ['gateway-damage', () => import('./gateway-damage.ts')],
  ['gateway-kills', () => import('./gateway-kills.ts')],
  ['gateway-lists', () => import('./gateway-lists.ts')],
  ['gateway-proxy', () => import('./gateway-proxy.ts')],
  ['hostile', () => import('./hostile.ts')],
  ['json-differential', () => import('./json-differential.ts')],
  ['kills', () => import('./kills.ts')],
  ['merkle', () => import('./merkle.ts')],
  ['one-winner', () => import('./one-winner.ts')],
  ['operate', () => import('./operate.ts')],
  ['outside-reader', () => import('./outside-reader.ts')],
  ['partition', () => import('./partition.ts')],
  ['paused-lease', () => import('./paused-lease.ts')],
  ['policy-differential', () => import('./policy-differential.ts')],
  ['policy-races', () => import('./policy-races.ts')],
  ['policy-tamper', () => import('./policy-tamper.ts')],
  ['races', () => import('./races.ts')],
  ['redis', () => import('./redis.ts')],
  ['replay', () => import('./replay.ts')],
  ['restore', () => import('./restore.ts')],
  ['rolling', () => import('./rolling.ts')],
  ['sdk-fleet', () => import('./sdk-fleet.ts')],
  ['sdk-outbox', () => import('./sdk-outbox.ts')],
  ['sovereign-tamper', () => import('./sovereign-tamper.ts')],
  ['succession', () => import('./succession.ts')],
  ['succession-live', () => import('./succession-live.ts')],
  ['token-signing', () => import('./token-signing.ts')],
  ['transition-kills', () => import('./transition-kills.ts')],
  ['trust-mutation', () => import('./trust-mutation.ts')],
  ['weak-keys', () => import('./weak-keys.ts')],
])

const USAGE = 'npm run campaign -- NAME [--count N] [--seed S] [--nodes N], or --list'

process.exitCode = await main(process.argv.slice(2))

/** 0 when no rule was violated, 1 when one was, 2 when the call was wrong. */
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
  const load = CAMPAIGNS.get(call.name)
  if (load === undefined) {
    process.stderr.write(`no campaign ${JSON.stringify(call.name)}; known: ${[...CAMPAIGNS.keys()].join(', ')}\n`)
    return 2
  }
  // First of all, so that a campaign that never ends can still be repeated.
  print(`seed ${call.seed}`)
  const campaign = await load()
  const count = call.count ?? campaign.defaultCount
  const { cases, violations } = await campaign.run({
    count,
    seed: call.seed,
    log: print,
    ...(call.nodes === undefined ? {} : { nodes: call.nodes }),
  })
  print(JSON.stringify({ name: call.name, cases, violations, seed: call.seed }))
  return violations > 0 ? 1 : 0
}

interface Call {
  readonly name: string
  readonly list: boolean
  readonly count: number | undefined
  readonly seed: number
  readonly nodes: number | undefined
}

function readCall(args: string[]): Call | string {
  const options = {
    list: { type: 'boolean' },
    count: { type: 'string' },
    seed: { type: 'string' },
    nodes: { type: 'string' },
  } as const
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    const [name = '', ...more] = positionals
    if (more.length > 0 || (name === '' && values.list !== true)) return 'name one campaign'
    const count = values.count === undefined ? undefined : readWhole(values.count, 1, 1e9)
    const seed = values.seed === undefined ? randomInt(2 ** 32) : readWhole(values.seed, 0, 2 ** 32 - 1)
    const nodes = values.nodes === undefined ? undefined : readWhole(values.nodes, 1, 1e6)
    return { name, list: values.list === true, count, seed, nodes }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
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
