import { mkdir, writeFile } from 'node:fs/promises'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  freePort,
  startGatewayProcess,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
  testProof,
  testSigner,
} from '@chancery/testkit'
import { startCheckProxy } from '../../tests/instances/check-proxies.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'

const BAR = 0.35
const CONNECTIONS = 16
const REQUESTS = 4000
const AUDIENCE = 'https://print.example'

/** nginx with `auth_request` to the check, against the same nginx with a server that always answers 200. */
export const httpCheck: Bench = {
  name: 'http-check',
  says: 'requests through nginx that ask the HTTP check, against auth_request to a constant 200',
  run,
}

async function run({ directory, cleanup, rounds, progress }: BenchOptions): Promise<BenchResult> {
  const server = createServer((_request, response) => response.writeHead(200, { 'content-length': 0 }).end())
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  cleanup.add(async () => void server.close())
  const constant = (server.address() as AddressInfo).port
  const signer = await testSigner('node', 'bench')
  const by = await testIssuer('agency')
  const certificate = await testCertificate(by, systemClock.now(), { node_public_key: signer.publicKey })
  const check = await startCheck(directory, { by }, cleanup)
  const plain = await startCheckProxy('nginx', { check: constant, service: constant })
  const checked = await startCheckProxy('nginx', { check, service: constant })
  for (const proxy of [plain, checked]) cleanup.add(() => proxy.stop())
  const proofs = (): Promise<Record<string, string>[]> =>
    Promise.all(
      Array.from({ length: REQUESTS }, async () => {
        const facts = { method: 'GET', target: '/jobs/1', audience: AUDIENCE, certificate, signer }
        return { ...(await testProof({ ...facts, now: systemClock.now() })) }
      }),
    )
  await load(checked.port, await proofs())
  const figures: { ratio: number; added: number; perSecond: number }[] = []
  for (let round = 0; round < rounds; round += 1) {
    const baseline = await load(plain.port, await proofs())
    const measured = await load(checked.port, await proofs())
    const ratio = measured.perSecond / baseline.perSecond
    figures.push({ ratio, added: measured.p99Ms - baseline.p99Ms, perSecond: measured.perSecond })
    progress(`round ${round + 1}: ${Math.round(measured.perSecond)} checks/s, ratio ${ratio.toFixed(3)}`)
  }
  const middle = figures.toSorted((a, b) => a.ratio - b.ratio)[Math.floor(figures.length / 2)]
  if (middle === undefined) throw new Error('no rounds')
  return { ratio: middle.ratio, bar: BAR, checks_per_second: middle.perSecond, added_p99_ms: middle.added }
}

async function startCheck(
  directory: string,
  { by }: { readonly by: Awaited<ReturnType<typeof testIssuer>> },
  cleanup: BenchOptions['cleanup'],
): Promise<number> {
  const list = await testList(by, systemClock.now())
  const policy = {
    ...testPolicy({ agency: testNetwork(by, list) }, [testClient('caller', ['agency'])]),
    check: { audience: AUDIENCE, requests_per_minute: 1_000_000, routes: [{ method: 'GET', path: '/jobs/{job}' }] },
  }
  await mkdir(directory, { recursive: true })
  const file = join(directory, 'check-policy.json')
  await writeFile(file, writeJson(policy), { mode: 0o600 })
  const port = await freePort()
  const gateway = await startGatewayProcess({
    GATEWAY_POLICY_FILE: file,
    GATEWAY_CHECK_ADDR: `127.0.0.1:${port}`,
    GATEWAY_CHECK_DIALECT: 'original',
  })
  if (gateway === undefined) throw new Error('the gateway did not start')
  cleanup.add(() => gateway.stop())
  // Proofs from the second in which the gateway started count as spent.
  await new Promise((done) => setTimeout(done, 1100))
  return port
}

/** Sends each request once. Every response must be 200. */
async function load(port: number, requests: readonly Record<string, string>[]) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const times: number[] = []
  const started = performance.now()
  let next = 0
  const send = (headers: Record<string, string>): Promise<void> =>
    new Promise((resolve, reject) => {
      const sentAt = performance.now()
      request({ port, host: '127.0.0.1', path: '/jobs/1', agent, headers }, (response) => {
        response.resume()
        response.once('end', () => {
          times.push(performance.now() - sentAt)
          if (response.statusCode === 200) resolve()
          else reject(new Error(`status ${response.statusCode}`))
        })
      })
        .once('error', reject)
        .end()
    })
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (let headers = requests[next]; headers !== undefined; headers = requests[next]) {
        next += 1
        await send(headers)
      }
    }),
  )
  agent.destroy()
  const sorted = times.toSorted((a, b) => a - b)
  const seconds = (performance.now() - started) / 1000
  return { perSecond: requests.length / seconds, p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0 }
}
