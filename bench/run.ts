import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { discovery } from './authority/discovery.ts'
import { evaluate } from './authority/evaluate.ts'
import { heartbeat } from './authority/heartbeat.ts'
import { hostileShare } from './authority/hostile-share.ts'
import { join as joinBench } from './authority/join.ts'
import { lists } from './authority/lists.ts'
import { partnerPulls } from './authority/partners.ts'
import { published } from './authority/published.ts'
import { scale } from './authority/scale.ts'
import { trustPath } from './authority/trust-path.ts'
import { verify } from './authority/verify.ts'
import { consoleMillion } from './console/million.ts'
import { evidenceAppend } from './evidence/append.ts'
import { footprint } from './footprint/footprint.ts'
import { gatewayLists } from './gateway/lists.ts'
import { gatewayProxy } from './gateway/proxy.ts'
import { gatewayVerify } from './gateway/verify.ts'
import type { Bench, BenchOptions, Measurement } from './lib/bench.ts'
import { Cleanup } from './lib/cleanup.ts'
import { DEFAULT_ROUND_SECONDS, DEFAULT_ROUNDS } from './lib/conditions.ts'
import { soak } from './soak/soak.ts'

const BENCHES: readonly Bench[] = [
  published,
  lists,
  heartbeat,
  joinBench,
  discovery,
  trustPath,
  verify,
  evaluate,
  partnerPulls,
  scale,
  evidenceAppend,
  gatewayVerify,
  gatewayProxy,
  gatewayLists,
  footprint,
  hostileShare,
  consoleMillion,
  soak,
]

const USAGE = `Usage: npm run --silent bench -- NAME [--case CASE] [--rounds N] [--seconds S] [--wait S] [--profile DIRECTORY] [--entries N] [--minutes N]
       npm run --silent bench -- --list | --all

--rounds   calm rounds of the result (9)      --wait     total time to wait for a quiet machine (0)
--seconds  load on each server per round (1)  --profile  folder for processor profiles of the product (none)
--case     another measurement of the same subject, which --list names
--entries  rows of the store, of the list or of the pages; partners, for partners; requests in each slice, for gateway-proxy --case check
--minutes  length of the soak (1)

Prints one JSON object as its last line: name, ratio, bar and figures. The conditions are in bench/lib/conditions.ts.`

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      list: { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
      case: { type: 'string' },
      rounds: { type: 'string', default: String(DEFAULT_ROUNDS) },
      seconds: { type: 'string', default: String(DEFAULT_ROUND_SECONDS) },
      wait: { type: 'string', default: '0' },
      profile: { type: 'string' },
      agents: { type: 'string' },
      entries: { type: 'string' },
      minutes: { type: 'string', default: '1' },
    },
  })
  const all = BENCHES.flatMap(measurementsOf)
  if (values.list) {
    for (const each of all) process.stdout.write(`${titleOf(each)}: ${each.says}\n`)
    return 0
  }
  const chosen = values.all ? all : all.filter(({ name, part }) => name === positionals[0] && part === values.case)
  const [rounds, seconds, waitSeconds] = [Number(values.rounds), Number(values.seconds), Number(values.wait)]
  const minutes = Number(values.minutes)
  const isUsable =
    Number.isInteger(rounds) && rounds > 0 && seconds > 0 && seconds <= 60 && waitSeconds >= 0 && minutes >= 1
  if (chosen.length === 0 || positionals.length !== (values.all ? 0 : 1) || !isUsable) {
    process.stderr.write(`${USAGE}\n`)
    return 1
  }
  const entries = values.entries === undefined ? undefined : Number(values.entries)
  let code = 0
  for (const bench of chosen) {
    const options = { rounds, seconds, waitSeconds, entries, minutes, profileDirectory: values.profile }
    code = Math.max(code, await runBench(bench, options))
  }
  return code
}

interface Named extends Measurement {
  readonly name: string
  /** Undefined for the main measurement of a benchmark. */
  readonly part: string | undefined
}

function measurementsOf({ cases = {}, ...bench }: Bench): Named[] {
  const others = Object.entries(cases).map(([part, each]) => ({ ...each, name: bench.name, part }))
  return [{ ...bench, part: undefined }, ...others]
}

function titleOf({ name, part }: Named): string {
  return part === undefined ? name : `${name} --case ${part}`
}

async function runBench(
  bench: Named,
  chosen: Pick<BenchOptions, 'rounds' | 'seconds' | 'waitSeconds' | 'entries' | 'minutes' | 'profileDirectory'>,
): Promise<number> {
  const cleanup = new Cleanup()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void cleanup.run().finally(() => process.exit(1)))
  }
  try {
    const directory = await mkdtemp(join(tmpdir(), 'chancery-bench-'))
    cleanup.add(() => rm(directory, { recursive: true, force: true }))
    const progress = (line: string): void => void process.stderr.write(`${titleOf(bench)}: ${line}\n`)
    const result = await bench.run({ ...chosen, directory, cleanup, progress })
    await cleanup.run()
    const named = { name: bench.name, ...(bench.part === undefined ? {} : { case: bench.part }) }
    process.stdout.write(`${JSON.stringify({ ...named, ...result, ...machine() })}\n`)
    return 0
  } catch (error) {
    process.stderr.write(
      `${titleOf(bench)}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    )
    return 1
  } finally {
    await cleanup.run()
  }
}

function machine(): { readonly node: string; readonly cores: number; readonly processor: string } {
  return { node: process.version, cores: availableParallelism(), processor: cpus()[0]?.model ?? '' }
}
