import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { initializeState, readGatewaySettings } from '@chancery/gateway'
import { type JoinCertificate, type JsonObject, writeJson } from '@chancery/protocol'
import { requireValues, systemClock, systemIds } from '@chancery/service-kit'
import { type GatewayProcess, fetchCrl, startGatewayProcess, testClient, testPolicy } from '@chancery/testkit'
import type { Random } from '../lib/random.ts'
import { PULL_SECONDS, RefusedCalls } from './watch.ts'

const JUDGED_AT_ONCE = 100
const BETWEEN_ROUNDS_MS = 1000
/** Some fetch intervals, because the machine is busy and a gateway may be starting. */
const FOLLOWED_WITHIN_MS = 60_000

interface Gateway {
  readonly env: Readonly<Record<string, string>>
  /** Undefined during a restart. */
  process: GatewayProcess | undefined
}

interface GatewayParts {
  readonly url: string
  readonly network: string
  readonly folder: string
  readonly rootPublicKey: string
  readonly key: { readonly keyId: string; readonly publicKey: string }
}

/** Gateways that verify every certificate in use all the time. They follow by themselves, from the pinned root key. */
export class Gateways {
  readonly found: string[] = []
  readonly #parts: GatewayParts
  readonly #client: ReturnType<typeof testClient>
  readonly #gateways: Gateway[] = []
  readonly #calls = new RefusedCalls()
  #verified = 0
  #kills = 0
  #isJudging = false
  #verifying: Promise<void> = Promise.resolve()

  constructor(parts: GatewayParts) {
    this.#parts = parts
    this.#client = testClient('judge', [parts.network])
  }

  async start(count: number): Promise<void> {
    const { url, network, key, folder, rootPublicKey } = this.#parts
    const crl = (await fetchCrl(url, key.publicKey)) as unknown as JsonObject
    const entry = {
      anchors: { [key.keyId]: key.publicKey },
      crl,
      minimum_crl_sequence: 0,
      crl_url: `${url}/crl`,
      root_public_key: rootPublicKey,
      allow_http: true,
      refresh_seconds: PULL_SECONDS,
    }
    await writeFile(join(folder, 'token'), this.#client.token, { mode: 0o600 })
    const policy = writeJson(testPolicy({ [network]: entry }, [this.#client]))
    for (let index = 0; index < count; index += 1) {
      const home = join(folder, `gateway-${index}`)
      await mkdir(home, { recursive: true })
      const env = {
        GATEWAY_POLICY_FILE: join(home, 'policy.json'),
        GATEWAY_STATE_FILE: join(home, 'gateway.state'),
        GATEWAY_AUTH_FAILURES_PER_MINUTE: '100000',
        GATEWAY_LOG_LEVEL: 'error',
      }
      await writeFile(env.GATEWAY_POLICY_FILE, policy, { mode: 0o600 })
      await initializeState(requireValues(readGatewaySettings({ flags: {}, env })), {
        clock: systemClock,
        ids: systemIds,
      })
      this.#gateways.push({ env, process: await startOne(env) })
    }
  }

  /** For `rotate-key`, which asks each gateway. */
  get options(): readonly string[] {
    const urls = this.#gateways.flatMap(({ process }) => (process === undefined ? [] : ['--gateway', process.url]))
    return [...urls, '--gateway-token-file', join(this.#parts.folder, 'token')]
  }

  /** Waits until every gateway verifies with the key. No operator gives it a command. */
  async follow(keyId: string): Promise<void> {
    const end = performance.now() + FOLLOWED_WITHIN_MS
    for (const [index, gateway] of this.#gateways.entries())
      while (!(await this.#shows(gateway, keyId))) {
        if (performance.now() > end) throw new Error(`gateway ${index} does not show ${keyId}`)
        await pause(200)
      }
  }

  /** At the end each one is ready and has the key that signs. */
  async checkAll(keyId: string): Promise<void> {
    await this.follow(keyId)
    for (const [index, { process }] of this.#gateways.entries()) {
      const answer = await process?.request('GET', '/ready')
      if (answer?.status !== 200) this.found.push(`gateway ${index} is not ready: ${answer?.text}`)
    }
  }

  /** Kills one gateway with SIGKILL. It starts again from its files, also while the authority is down. */
  async killOne(random: Random): Promise<void> {
    const one = this.#gateways[random.below(this.#gateways.length)]
    const running = one?.process
    if (one === undefined || running === undefined) return
    one.process = undefined
    this.#kills += 1
    await running.kill()
    one.process = await startOne(one.env)
  }

  verify(certificates: () => Promise<readonly JoinCertificate[]>): void {
    this.#isJudging = true
    this.#verifying = (async () => {
      while (this.#isJudging) {
        for (const [index, gateway] of this.#gateways.entries()) await this.#ask(index, gateway, await certificates())
        await pause(BETWEEN_ROUNDS_MS)
      }
    })()
    // Reported when it is awaited at the end.
    this.#verifying.catch(() => undefined)
  }

  figures(): JsonObject {
    const { refusals, longestRefusedMs } = this.#calls
    return {
      gateways: this.#gateways.length,
      verified: this.#verified,
      gateway_refusals: refusals,
      longest_ms: longestRefusedMs,
      gateway_kills: this.#kills,
    }
  }

  async stop(): Promise<void> {
    this.#isJudging = false
    await this.#verifying
    for (const { process } of this.#gateways) await process?.kill()
  }

  async #shows({ process }: Gateway, keyId: string): Promise<boolean> {
    const answer = await process?.request('GET', '/v1/networks', { token: this.#client.token }).catch(() => undefined)
    return answer?.text.includes(`"issuer":"${keyId}"`) ?? false
  }

  async #ask(index: number, { process }: Gateway, certificates: readonly JoinCertificate[]): Promise<void> {
    for (let at = 0; at < certificates.length; at += JUDGED_AT_ONCE) {
      const some = certificates.slice(at, at + JUDGED_AT_ONCE)
      const request = { token: this.#client.token, body: { certificates: some } }
      // A gateway that is being killed does not respond.
      const answer = await process?.request('POST', '/verify/batch', request).catch(() => undefined)
      if (answer === undefined) return
      const results = (answer.body['results'] ?? []) as readonly JsonObject[]
      for (const [place, certificate] of some.entries()) this.#note(index, certificate, results[place], answer.text)
    }
  }

  #note(index: number, certificate: JoinCertificate, result: JsonObject | undefined, text: string): void {
    this.#verified += 1
    const caller = `${index} ${certificate.node_public_key}`
    if (result?.['trusted'] === true) {
      this.#calls.accepted(caller)
      return
    }
    const tooLong = this.#calls.refused(caller)
    if (tooLong === undefined) return
    const said = result === undefined ? text.slice(0, 200) : JSON.stringify(result).slice(0, 300)
    const { cert_id, issued_by } = certificate
    this.found.push(`gateway ${index} refuses ${cert_id} of ${issued_by} for ${tooLong} ms: ${said}`)
  }
}

async function startOne(env: Readonly<Record<string, string>>): Promise<GatewayProcess> {
  const started = await startGatewayProcess(env)
  if (started === undefined) throw new Error('a gateway does not start any more')
  return started
}
