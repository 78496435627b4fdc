import { request } from 'node:http'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { measureAgainstLimit, type NodeFigures } from '../lib/node-bench.ts'
import { openAuthority, type Server } from '../lib/servers.ts'
import { median, round } from '../lib/statistics.ts'
import { agreementBody, decisionBody, newSigner, worstBody } from '../lib/trust-records.ts'

const BAR = 0.6
const SIGNERS = 16
const PER_SECOND = 16_000
/** As in gateway-verify: both processes have compiled the route, as the faster echo has after one slice. */
const WARM_UPS = 5
/** One request blocks the event loop no longer than this (reliability: one public verify). */
const LOOP_BAR_MS = 50

/** As many processes as the machine has cores; nothing is written, so only E and V limit. */
export const verify: Bench = {
  name: 'verify',
  says: 'POST /boundary/verify and /agreements/verify against the limit formula, and the most expensive request',
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { database, server, processes } = await openAuthority(options, { processes: 2 })
  const signers = await Promise.all(Array.from({ length: SIGNERS }, (_, n) => newSigner(`party-${n}`)))
  const signerAt = (at: number) => signers[at % SIGNERS] ?? newSigner('none')
  const measured = (path: string, verifications: number, body: (at: number) => Promise<string>): Promise<NodeFigures> =>
    measureAgainstLimit(
      {
        path,
        bodies: (count) => repeated(count, body),
        database,
        processes,
        verifications,
        signatures: 0,
        perSecond: PER_SECOND,
        warmUps: WARM_UPS,
      },
      options,
    )
  const boundary = await measured('/boundary/verify', 1, async (at) => decisionBody(await signerAt(at)))
  const agreements = await measured('/agreements/verify', 2, async (at) =>
    agreementBody(await signerAt(at), await signerAt(at + 1)),
  )
  const worst = await measureWorst(server)
  return { bar: BAR, ...boundary, ratio: Math.min(boundary.ratio, agreements.ratio), boundary, agreements, worst }
}

/** A thousand different records, so that no cache has the result; signing more would only delay the slice. */
export async function repeated(count: number, body: (at: number) => Promise<string>): Promise<readonly string[]> {
  const made: string[] = []
  for (let at = 0; at < Math.min(count, 1000); at += 1) made.push(await body(at))
  return Array.from({ length: count }, (_, at) => made[at % made.length] ?? '')
}

/**
 * Delay of other calls while the most expensive accepted request is verified: the longest ping, compared with an
 * undisturbed one.
 */
async function measureWorst(server: Server): Promise<object> {
  const body = await worstBody(2_000_000)
  const quiet = await longestPing(server, async () => new Promise((resolve) => setTimeout(resolve, 500)))
  const blocked: number[] = []
  let status = 0
  for (let turn = 0; turn < 7; turn += 1) {
    const longest = await longestPing(server, async () => {
      status = (await send(server, 'POST', '/agreements/verify', body)).status
    })
    blocked.push(longest)
  }
  const held_ms = round(median(blocked), 1)
  return { bytes: body.length, checks: 1024, status, held_ms, quiet_ms: round(quiet, 1), bar_ms: LOOP_BAR_MS }
}

async function longestPing(server: Server, work: () => Promise<unknown>): Promise<number> {
  let [isOver, longest] = [false, 0]
  const done = work().finally(() => (isOver = true))
  while (!isOver) {
    const before = performance.now()
    await send(server, 'GET', '/healthz')
    longest = Math.max(longest, performance.now() - before)
  }
  await done
  return longest
}

function send(server: Server, method: string, path: string, body = ''): Promise<{ readonly status: number }> {
  return new Promise((resolve, reject) => {
    const headers = body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const call = request({ host: HOST, port: server.port, method, path, headers }, (answer) => {
      answer.resume()
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0 }))
    })
    call.once('error', reject)
    call.end(body)
  })
}
