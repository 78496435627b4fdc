import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { activeNodes } from './authority/active-nodes.ts'
import { agentList } from './authority/agent-list.ts'
import { adminRead } from './authority/admin-read.ts'
import { consoleMillion } from './console/million.ts'
import { crlDelta } from './authority/crl-delta.ts'
import { discovery } from './authority/discovery.ts'
import { evaluate } from './authority/evaluate.ts'
import { evidenceAppend } from './evidence/append.ts'
import { evidenceExport } from './evidence/export.ts'
import { evidenceHttp } from './evidence/http.ts'
import { feedParts } from './authority/feed-parts.ts'
import { footprint } from './footprint/footprint.ts'
import { heartbeat } from './authority/heartbeat.ts'
import { heartbeatWal } from './authority/heartbeat-wal.ts'
import { hostileShare } from './authority/hostile-share.ts'
import { join as joinBench } from './authority/join.ts'
import type { Bench, BenchOptions } from './lib/bench.ts'
import { httpCheck } from './gateway/http-check.ts'
import { gatewayProxy } from './gateway/proxy.ts'
import { gatewayLists } from './gateway/lists.ts'
import { gatewayVerify } from './gateway/verify.ts'
import { Cleanup } from './lib/cleanup.ts'
import { DEFAULT_ROUNDS, DEFAULT_ROUND_SECONDS } from './lib/conditions.ts'
import { listMemory } from './gateway/list-memory.ts'
import { metricsScrape } from './authority/metrics-scrape.ts'
import { nodeDecisions } from './authority/node-decisions.ts'
import { nodeList } from './authority/node-list.ts'
import { partnerPulls } from './authority/partners.ts'
import { soak } from './soak/soak.ts'
import { publishedDocuments } from './authority/public-material.ts'
import { trustPath } from './authority/trust-path.ts'
import { twoInstances } from './authority/two-instances.ts'
import { verify } from './authority/verify.ts'
import { workers } from './authority/workers.ts'

const BENCHES: readonly Bench[] = [
  publishedDocuments,
  adminRead,
  heartbeat,
  heartbeatWal,
  activeNodes,
  joinBench,
  discovery,
  feedParts,
  crlDelta,
  trustPath,
  verify,
  evaluate,
  nodeDecisions,
  partnerPulls,
  twoInstances,
  workers,
  evidenceAppend,
  evidenceExport,
  evidenceHttp,
  gatewayVerify,
  gatewayProxy,
  httpCheck,
  gatewayLists,
  listMemory,
  footprint,
  hostileShare,
  metricsScrape,
  nodeList,
  agentList,
  consoleMillion,
  soak,
]

const USAGE = `Usage: npm run --silent bench -- NAME [--rounds N] [--seconds S] [--wait S] [--profile DIRECTORY] [--entries N] [--minutes N]
       npm run --silent bench -- --list | --all

--rounds   calm rounds of the result (9)      --wait     total time to wait for a quiet machine (0)
--seconds  load on each server per round (1)  --profile  folder for processor profiles of the product (none)
--entries  entries in the evidence store, for the evidence benchmarks; ids, for feed-parts; entries of the list, for crl-delta; partners, for partners;
           requests in each slice, for http-check
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
      rounds: { type: 'string', default: String(DEFAULT_ROUNDS) },
      seconds: { type: 'string', default: String(DEFAULT_ROUND_SECONDS) },
      wait: { type: 'string', default: '0' },
      profile: { type: 'string' },
      agents: { type: 'string' },
      entries: { type: 'string' },
      minutes: { type: 'string', default: '1' },
    },
  })
  if (values.list) {
    for (const { name, says } of BENCHES) process.stdout.write(`${name}: ${says}\n`)
    return 0
  }
  const chosen = values.all ? BENCHES : BENCHES.filter(({ name }) => name === positionals[0])
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

async function runBench(
  bench: Bench,
  chosen: Pick<BenchOptions, 'rounds' | 'seconds' | 'waitSeconds' | 'entries' | 'minutes' | 'profileDirectory'>,
): Promise<number> {
  const cleanup = new Cleanup()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void cleanup.run().finally(() => process.exit(1)))
  }
  try {
    const directory = await mkdtemp(join(tmpdir(), 'chancery-bench-'))
    cleanup.add(() => rm(directory, { recursive: true, force: true }))
    const progress = (line: string): void => void process.stderr.write(`${bench.name}: ${line}\n`)
    const result = await bench.run({ ...chosen, directory, cleanup, progress })
    await cleanup.run()
    process.stdout.write(`${JSON.stringify({ name: bench.name, ...result, ...machine() })}\n`)
    return 0
  } catch (error) {
    process.stderr.write(`${bench.name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    return 1
  } finally {
    await cleanup.run()
  }
}

function machine(): { readonly node: string; readonly cores: number; readonly processor: string } {
  return { node: process.version, cores: availableParallelism(), processor: cpus()[0]?.model ?? '' }
}
