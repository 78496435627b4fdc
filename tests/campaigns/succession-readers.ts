import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  authorityKeysAt,
  instantOf,
  readJson,
  readRevocationFeed,
  recogniseRecord,
  verifyList,
  verifyRecord,
} from '@chancery/protocol'
import type { GenesisBlock, JoinCertificate, JsonObject } from '@chancery/protocol'
import { FollowedKeys, MemoryNodeStore, createClient } from '@chancery/sdk'
import { fetchCrl, startTestGateway, testClient, testPolicy } from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { chancery } from './succession-commands.ts'

export const PULL_SECONDS = 10
/** An interval with its jitter, a fetch, and a busy machine. */
const REFUSED_AT_MOST_MS = PULL_SECONDS * 1100 + 5000

/** Gateways that judge all the while; they follow by the command an operator uses. */
export class Gateways {
  readonly found: string[] = []
  readonly #network: string
  readonly #client: ReturnType<typeof testClient>
  #gateways: TestGateway[] = []
  #refusedSince = new Map<string, number>()
  #judged = 0
  #isJudging = false
  #judging: Promise<void> = Promise.resolve()

  constructor(network: string) {
    this.#network = network
    this.#client = testClient('judge', [network])
  }

  async start(url: string, key: { readonly keyId: string; readonly publicKey: string }, count: number): Promise<void> {
    const crl = (await fetchCrl(url, key.publicKey)) as unknown as JsonObject
    const entry = {
      anchors: { [key.keyId]: key.publicKey },
      crl,
      minimum_crl_sequence: 0,
      crl_url: `${url}/crl`,
      allow_http: true,
      refresh_seconds: PULL_SECONDS,
    }
    const policy = testPolicy({ [this.#network]: entry }, [this.#client])
    for (let index = 0; index < count; index += 1) this.#gateways.push(await startTestGateway({ policy, state: 'new' }))
  }

  async follow(url: string, genesisFile: string): Promise<void> {
    for (const gateway of this.#gateways) {
      const file = join(gateway.home, 'policy.json')
      const words = ['--policy', file, '--network', this.#network, '--genesis', genesisFile, '--url', url]
      await chancery({}, 'gateway', 'follow', ...words)
      const policy = readJson(await readFile(file, 'utf8')) as JsonObject
      await gateway.reload({ ...policy, revision: `followed-${Date.now()}` })
    }
  }

  judge(certificates: () => Promise<readonly JoinCertificate[]>): void {
    this.#isJudging = true
    this.#judging = (async () => {
      while (this.#isJudging) {
        for (const certificate of await certificates()) await this.#ask(certificate)
        await pause(500)
      }
    })()
  }

  get judged(): number {
    return this.#judged
  }

  async stop(): Promise<void> {
    this.#isJudging = false
    await this.#judging
    for (const gateway of this.#gateways) await gateway.stop()
  }

  async #ask(certificate: JoinCertificate): Promise<void> {
    for (const [index, gateway] of this.#gateways.entries()) {
      const answer = await gateway.request('POST', '/verify', { token: this.#client.token, body: { certificate } })
      this.#judged += 1
      const name = `${index} ${certificate.node_public_key}`
      if (answer.body['trusted'] === true) this.#refusedSince.delete(name)
      else {
        const since = this.#refusedSince.get(name) ?? performance.now()
        this.#refusedSince.set(name, since)
        if (performance.now() - since > REFUSED_AT_MOST_MS) {
          this.found.push(
            `gateway ${index} refuses ${certificate.cert_id} of ${certificate.issued_by}: ${answer.text.slice(0, 200)}`,
          )
          this.#refusedSince.set(name, Infinity)
        }
      }
    }
  }
}

/** Keeps what was published under each key, and verifies all of it with the newest block and its history. */
export class Auditor {
  readonly #kept: JsonObject[] = []

  async collect(url: string, certificates: readonly JoinCertificate[]): Promise<void> {
    for (const path of ['/crl', '/policy', '/sovereign-revocation-feed']) {
      const answer = await fetch(`${url}${path}`)
      this.#kept.push(readJson(await answer.text()) as JsonObject)
    }
    const [first] = certificates
    if (first !== undefined) this.#kept.push(first)
  }

  /** By the library, and by the command for every tenth. */
  async verify(folder: string, block: string, history: string): Promise<readonly string[]> {
    const found: string[] = []
    const [genesis, former] = await Promise.all(
      [block, history].map(async (file) => readJson(await readFile(file, 'utf8'))),
    )
    for (const [index, record] of this.#kept.entries()) {
      const kind = recogniseRecord(record)
      if (kind === undefined) found.push(`a record is not recognised: ${JSON.stringify(record).slice(0, 120)}`)
      else {
        const ground = { keys: [], validatorKeys: new Map<string, string>(), genesis, history: former }
        const issuedAt = typeof record['issued_at'] === 'string' ? record['issued_at'] : ''
        const now = instantOf(issuedAt) + 1_000_000n
        const verdict = await verifyRecord(kind, record, {
          ...(ground as unknown as Parameters<typeof verifyRecord>[2]),
          now,
        })
        if (!verdict.ok) found.push(`${kind} of ${issuedAt} does not verify: ${verdict.reason}`)
      }
      if (index % 10 !== 1) continue
      const file = join(folder, `export-${index}.json`)
      await writeFile(file, JSON.stringify(record))
      await chancery({}, 'verify', file, '--genesis', block, '--key-history', history).catch((error: unknown) =>
        found.push(`chancery verify: ${String(error).slice(0, 300)}`),
      )
    }
    return found
  }

  get size(): number {
    return this.#kept.length
  }
}

/** Another sovereign that pins the root: it follows the blocks and must always be able to read the feed. */
export class Partner {
  readonly #url: string
  readonly #followed: Promise<FollowedKeys>
  #sequence = -1

  constructor(url: string, genesis: GenesisBlock) {
    this.#url = url
    this.#followed = FollowedKeys.open(genesis, new MemoryNodeStore())
  }

  async pull(): Promise<readonly string[]> {
    const followed = await this.#followed
    const outcome = await followed.follow(createClient({ url: this.#url }))
    if (outcome !== 'changed' && outcome !== 'unchanged') return [`the partner does not follow: ${outcome}`]
    const feed = readRevocationFeed(readJson(await (await fetch(`${this.#url}/sovereign-revocation-feed`)).text()))
    if (!(await verifyList(feed, authorityKeysAt(followed.keys, feed.issued_at))))
      return [`feed ${feed.sequence} is not authentic for the partner`]
    if (feed.sequence < this.#sequence) return [`the feed went back from ${this.#sequence} to ${feed.sequence}`]
    this.#sequence = feed.sequence
    return []
  }
}
