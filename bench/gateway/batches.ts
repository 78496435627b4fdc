import { Agent, request } from 'node:http'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { BenchOptions } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { processSeconds } from '../lib/cpu.ts'
import type { Server } from '../lib/servers.ts'
import { median, quantile, round, sum } from '../lib/statistics.ts'
import { measureSignatures } from '../lib/theoretical-limit.ts'

const RATIO_BAR = 0.55
const SINGLE_P99_BAR_MS = 20
export const BATCH = 100
/** Concurrent batches per process: one is verified while the other is transferred. */
export const BATCHES_AT_ONCE = 2
/** Every thread compiles separately; the bare rate needs no warm-up. */
const WARM_UP_SECONDS = 5
/** Interval in milliseconds of single verifications sent to each process in addition to the batches. */
const SINGLE_EVERY_MS = 10

interface BatchWork {
  readonly processes: readonly Server[]
  readonly token: string
  /** A body of 100 certificates, and one of a single certificate. */
  readonly batch: string
  readonly single: string
}

interface BatchRound {
  readonly ratio: number
  /** Processor time of one bare verification over that of one certificate: the ratio without waiting. */
  readonly cpuRatio: number
  readonly rate: number
  readonly verify: number
  readonly singles: readonly number[]
}

/** Batches on every process against the bare rate of the same round, while single verifications are sent. */
export async function measureBatches(work: BatchWork, options: BenchOptions): Promise<object> {
  await runRound(work, WARM_UP_SECONDS)
  const rounds: BatchRound[] = []
  for (let turn = 0; turn < options.rounds; turn += 1) {
    const each = await runRound(work, options.seconds)
    rounds.push(each)
    options.progress(
      `batches: ${Math.round(each.rate)} certificates/s of ${Math.round(each.verify)} x cores = ${each.ratio.toFixed(2)}`,
    )
  }
  const singles = rounds.flatMap((each) => each.singles).sort((a, b) => a - b)
  return {
    ratio: round(median(rounds.map(({ ratio }) => ratio))),
    bar: RATIO_BAR,
    ratios: rounds.map(({ ratio }) => round(ratio)),
    cpu_ratio: round(median(rounds.map(({ cpuRatio }) => cpuRatio))),
    rate: round(median(rounds.map(({ rate }) => rate)), 0),
    single_beside: {
      answers: singles.length,
      p50_ms: round(quantile(singles, 0.5), 2),
      p99_ms: round(quantile(singles, 0.99), 2),
      bar_ms: SINGLE_P99_BAR_MS,
    },
  }
}

async function runRound(work: BatchWork, seconds: number): Promise<BatchRound> {
  const before = await measureSignatures(400, 150)
  const start = performance.now()
  const end = start + seconds * 1000
  const usedBefore = sum(work.processes.map(({ pid }) => processSeconds(pid)))
  const [verified, singles] = await Promise.all([
    Promise.all(work.processes.flatMap((server) => callers(server, work, end))),
    Promise.all(work.processes.map((server) => sendSingles(server, work, end))),
  ])
  const count = sum(verified)
  const rate = (count * 1000) / (performance.now() - start)
  const used = (sum(work.processes.map(({ pid }) => processSeconds(pid))) - usedBefore) * 1_000_000
  const after = await measureSignatures(400, 150)
  const verify = (before.verify + after.verify) / 2
  const verifyMicros = (before.verifyMicros + after.verifyMicros) / 2
  const ratio = rate / (availableParallelism() * verify)
  return { ratio, rate, verify, cpuRatio: (count * verifyMicros) / used, singles: singles.flat() }
}

function callers(server: Server, work: BatchWork, end: number): Promise<number>[] {
  return Array.from({ length: BATCHES_AT_ONCE }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    let verified = 0
    while (performance.now() < end) {
      await post(server, agent, '/verify/batch', work.token, work.batch)
      verified += BATCH
    }
    agent.destroy()
    return verified
  })
}

async function sendSingles(server: Server, { token, single }: BatchWork, end: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true })
  const taken: number[] = []
  const under: Promise<unknown>[] = []
  while (performance.now() < end) {
    // Sent at a fixed interval, so that a waiting call does not hide the delay of the next ones.
    const sentAt = performance.now()
    under.push(post(server, agent, '/verify', token, single).then(() => taken.push(performance.now() - sentAt)))
    await pause(SINGLE_EVERY_MS)
  }
  await Promise.all(under)
  agent.destroy()
  return taken
}

function post(server: Server, agent: Agent, path: string, token: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    const call = request({ host: HOST, port: server.port, method: 'POST', path, agent, headers }, (answer) => {
      answer.resume()
      answer.once('end', () =>
        answer.statusCode === 200 ? resolve() : reject(new Error(`${path} was answered ${answer.statusCode}`)),
      )
    })
    call.once('error', reject)
    call.end(body)
  })
}
