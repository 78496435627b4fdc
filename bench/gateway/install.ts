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
import type { BenchOptions } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { type LoopBlock, startGateway } from '../lib/servers.ts'
import { round } from '../lib/statistics.ts'

const LOOP_BAR_MS = 50

/** Returns an id of about the length of a real one. */
export function idOf(n: number): string {
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
