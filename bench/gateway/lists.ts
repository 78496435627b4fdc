import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { initializeState, readGatewaySettings } from '@chancery/gateway'
import { seconds, writeJson } from '@chancery/protocol'
import { requireValues, systemClock, systemIds } from '@chancery/service-kit'
import { sendGatewayRequest, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import { buildIndex, readIndex } from '../../apps/gateway/src/trust/revocation-index.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { type LoopBlock, startGateway } from '../lib/servers.ts'
import { median, round } from '../lib/statistics.ts'

const REVOCATIONS = 100_000
/** Just below the default of GATEWAY_MAX_LIST_BYTES. */
const LARGEST = 460_000
const LOOP_BAR_MS = 50
const [FEW, MANY] = [1000, 1_000_000]
/**
 * The larger index does not fit the processor caches, the smaller one does; a linear search would be a thousand times
 * slower.
 */
const BAR = 0.2
const LOOK_UPS = 20_000

/** Cost of large lists for a gateway: while one is installed, and for every certificate afterwards. */
export const gatewayLists: Bench = {
  name: 'gateway-lists',
  says: 'installing lists of 100,000 revocations and of 64 MiB without holding the event loop, and look-ups among 1,000,000 ids',
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const look_up = measureLookUps(options)
  const install = await measureInstall(options, { revocations: REVOCATIONS, installs: 4 })
  const largest = await measureInstall(options, { revocations: LARGEST, installs: 2 })
  return { ratio: look_up.ratio, bar: BAR, look_up, install, largest }
}

/** Half of the look-ups find an entry. Both indexes alternate; the result is the median of the rounds. */
function measureLookUps({ rounds, progress }: BenchOptions): {
  readonly ratio: number
  readonly [name: string]: number
} {
  const few = prepare(FEW)
  const many = prepare(MANY)
  const figures = Array.from({ length: rounds }, () => ({ few: few(), many: many() }))
  const [few_ns, many_ns] = [median(figures.map((each) => each.few)), median(figures.map((each) => each.many))]
  progress(`look-up among ${FEW}: ${few_ns.toFixed(0)} ns, among ${MANY}: ${many_ns.toFixed(0)} ns`)
  return { ratio: round(few_ns / many_ns), few_ns: round(few_ns, 0), many_ns: round(many_ns, 0) }
}

/** Returns nanoseconds per look-up. */
function prepare(count: number): () => number {
  const entries = Array.from({ length: count }, (_, n) => ({
    certificate_id: idOf(n),
    reason: 'key_compromise',
    revoked_at: '2026-01-02T03:04:05Z',
    withdrawn: true,
  }))
  const index = readIndex(buildIndex(entries))
  return () => {
    const ids = Array.from({ length: LOOK_UPS }, () => idOf(Math.floor(Math.random() * count * 2)))
    const start = performance.now()
    let found = 0
    for (const id of ids) if (index.find(id) !== undefined) found += 1
    const took = performance.now() - start
    if (found === 0 || found === LOOK_UPS) throw new Error('half of the ids are in the index')
    return (took * 1_000_000) / LOOK_UPS
  }
}

function idOf(n: number): string {
  return `cert-${(n * 2_654_435_761).toString(16).padStart(20, '0')}`
}

/**
 * Installs large lists one after another, compressed and with durable state. Measures the longest block of the event
 * loop and the peak memory.
 */
export async function measureInstall(
  options: BenchOptions,
  { revocations, installs }: { readonly revocations: number; readonly installs: number },
): Promise<object> {
  const by = await testIssuer('agency')
  const caller = testClient('caller', ['agency'])
  const make = async (sequence: number): Promise<string> =>
    writeJson(
      await testList(by, systemClock.now(), {
        sequence,
        issuedAgo: seconds(600 - sequence),
        // Each list leaves out some entries of the last one, so that the set of withdrawn entries grows.
        entries: Array.from({ length: revocations }, (_, n) => ({ certificate_id: idOf(n + sequence * 1000) })),
      }),
    )
  let offered = await make(2)
  const lists = createServer((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(offered, { level: 2 }))
  })
  await new Promise<void>((done) => lists.listen(0, HOST, done))
  options.cleanup.add(() => void lists.close())
  const network = testNetwork(by, await testList(by, systemClock.now(), { sequence: 1, issuedAgo: seconds(900) }), {
    crl_url: `http://${HOST}:${(lists.address() as AddressInfo).port}/crl`,
    allow_http: true,
    refresh_seconds: 10,
  })
  const env = {
    GATEWAY_POLICY_FILE: join(options.directory, `list-policy-${revocations}.json`),
    GATEWAY_STATE_FILE: join(options.directory, `gateway-${revocations}.state`),
    GATEWAY_LOG_LEVEL: 'error',
  }
  await writeFile(env.GATEWAY_POLICY_FILE, writeJson(testPolicy({ agency: network }, [caller])), { mode: 0o600 })
  await initializeState(requireValues(readGatewaySettings({ flags: {}, env })), { clock: systemClock, ids: systemIds })
  const gateway = await startGateway({ ...env, NODE_ENV: 'production' }, options.cleanup)
  const url = `http://${HOST}:${gateway.port}`
  const blocked: LoopBlock[] = []
  await gateway.blocked()
  const memory_before = await peakMegabytes(gateway.pid)
  for (let sequence = 2; sequence < 2 + installs; sequence += 1) {
    while ((await shownSequence(url, caller.token)) < sequence) await pause(100)
    blocked.push(await gateway.blocked())
    options.progress(
      `list ${sequence} of ${revocations} installed, event loop held ${blocked.at(-1)?.clockMs.toFixed(1)} ms at most`,
    )
    offered = await make(sequence + 1)
  }
  return {
    revocations,
    list_bytes: offered.length,
    held_ms: blocked.map(({ clockMs }) => round(clockMs, 1)),
    // The longest block without the time that other processes used.
    own_held_ms: blocked.map(({ ownMs }) => round(ownMs, 1)),
    bar_ms: LOOP_BAR_MS,
    memory_mb: { before: memory_before, peak: await peakMegabytes(gateway.pid) },
  }
}

/** The peak resident memory of a process. */
async function peakMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024)
}

async function shownSequence(url: string, token: string): Promise<number> {
  const { status, body, text } = await sendGatewayRequest(url, 'GET', '/v1/networks', { token })
  if (status !== 200) throw new Error(`GET /v1/networks answered ${status} ${text}`)
  const [network] = body['networks'] as unknown as { revocation: { sequence: number } }[]
  return network?.revocation.sequence ?? 0
}
