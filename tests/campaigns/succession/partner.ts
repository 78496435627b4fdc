import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  authorityKeysAt,
  isJsonObject,
  readGenesisBlock,
  readJson,
  readRevocationFeed,
  verifyList,
  writePrivateKeyFile,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { MemoryNodeStore } from '@chancery/sdk'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { FollowedKeys } from '@chancery/sdk/internal'
import { createTestDatabase, createTestNetwork, ownKeysOf, startAuthorityProcess, testSeed } from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import { chancery } from '../lib/command.ts'

const OPERATOR = 'op-privileged'

interface PartnerParts {
  /** Of the authority that changes its keys. */
  readonly url: string
  readonly network: string
  readonly folder: string
}

/**
 * A partner network with its own authority. Its operator follows the root of the other network, replaces the treaty and
 * imports the feed, all by commands. A separate program reads the feed with the library.
 */
export class Partner {
  readonly found: string[] = []
  readonly #parts: PartnerParts
  readonly #own: TestNetwork
  readonly #database: TestDatabase
  readonly #na: AuthorityProcess
  readonly #reader: FollowedKeys
  #treaty: JsonObject = {}
  #keys: readonly string[] = []
  #sequence = -1
  #imports = 0

  private constructor(
    parts: PartnerParts,
    own: { readonly network: TestNetwork; readonly database: TestDatabase; readonly na: AuthorityProcess },
    reader: FollowedKeys,
  ) {
    this.#parts = parts
    this.#own = own.network
    this.#database = own.database
    this.#na = own.na
    this.#reader = reader
  }

  static async open(parts: PartnerParts, genesisFile: string): Promise<Partner> {
    const { folder } = parts
    await mkdir(join(folder, 'peer'), { recursive: true })
    await copyFile(genesisFile, join(folder, 'peer', 'genesis.json'))
    const network = await createTestNetwork('PARTNER-NET', ownKeysOf('PARTNER-NET'))
    const database = await createTestDatabase('sqlite')
    const na = await startAuthorityProcess({ network, settings: database.settings })
    await writeFile(join(folder, 'operator.key'), writePrivateKeyFile(testSeed(OPERATOR), OPERATOR), { mode: 0o600 })
    const config = [
      `[network]\nna_endpoint = "${na.url}"`,
      `[paths]\ngenesis = "${network.settings['GENESIS_FILE'] ?? ''}"\noperator_private_key = "operator.key"`,
      `[operator]\nkey_id = "${OPERATOR}"`,
    ]
    await writeFile(join(folder, 'chancery.toml'), `${config.join('\n')}\n`)
    const genesis = readGenesisBlock(readJson(await readFile(genesisFile, 'utf8')))
    const reader = await FollowedKeys.open(genesis, new MemoryNodeStore())
    const partner = new Partner(parts, { network, database, na }, reader)
    partner.#keys = [genesis.network_authority.public_key]
    const words = ['--key', ...partner.#keys, '--role', 'role:client', '--validity-hours', '720']
    partner.#treaty = await partner.#operate('treaty', 'issue', parts.network, ...words)
    return partner
  }

  get imports(): number {
    return this.#imports
  }

  /** As in docs/operate/keys.md: the newest block of the root, and a second treaty with its key. */
  async follow(): Promise<void> {
    const peer = join(this.#parts.folder, 'peer', 'genesis.json')
    await chancery({}, 'genesis', 'fetch', '--genesis', peer, '--url', this.#parts.url)
    const followed = readJson(await readFile(join(this.#parts.folder, 'peer', 'keys.json'), 'utf8')) as JsonObject
    const block = readGenesisBlock(followed['genesis'] ?? null)
    const newest = block.network_authority.public_key
    const before = this.#keys.findLast((key) => key !== newest)
    this.#keys = [...(before === undefined ? [] : [before]), newest]
    const keys = this.#keys.flatMap((key) => ['--key', key])
    const id = this.#treaty['treaty_id'] as string
    const done = await this.#operate('treaty', 'renew', id, ...keys, '--yes')
    this.#treaty = isJsonObject(done['treaty'] ?? null) ? (done['treaty'] as JsonObject) : this.#treaty
  }

  /** Imports the feed, and verifies a member that must be accepted and one that was revoked. */
  async pull(member: JsonObject, revoked: JsonObject | undefined): Promise<void> {
    try {
      const sequence = (await this.#operate('partner', 'import-feed', this.#parts.url))['sequence'] as number
      this.#imports += 1
      if (sequence <= this.#sequence) this.found.push(`the partner imported feed ${sequence} after ${this.#sequence}`)
      this.#sequence = sequence
    } catch (error) {
      this.found.push(`the partner cannot import the feed: ${String(error).slice(0, 500)}`)
    }
    await this.#verify(member, 'accepted')
    if (revoked !== undefined) await this.#verify(revoked, 'attestation_locally_revoked')
    await this.#read()
  }

  async close(): Promise<void> {
    await this.#na.kill()
    await this.#database.drop()
    await this.#own.remove()
  }

  async #verify(attestation: JsonObject, wanted: string): Promise<void> {
    const body = { attestation, treaty: this.#treaty }
    const answer = await this.#na.request('POST', '/attestations/verify-with-treaty', { body })
    const reason = isJsonObject(answer.json ?? null) ? (answer.json as JsonObject)['reason'] : undefined
    if (reason !== wanted)
      this.found.push(`verdict of the partner on a member: ${answer.text.slice(0, 300)}, expected ${wanted}`)
  }

  /** Reads the feed with the library, which follows the root. This must always succeed. */
  async #read(): Promise<void> {
    const outcome = await this.#reader.follow(createAuthorityClient({ url: this.#parts.url }))
    if (outcome !== 'changed' && outcome !== 'unchanged') this.found.push(`the partner does not follow: ${outcome}`)
    const answer = await fetch(`${this.#parts.url}/sovereign-revocation-feed`)
    const feed = readRevocationFeed(readJson(await answer.text()))
    if (!(await verifyList(feed, authorityKeysAt(this.#reader.keys, feed.issued_at))))
      this.found.push(`feed ${feed.sequence} is not authentic for the partner`)
  }

  async #operate(...words: readonly string[]): Promise<JsonObject> {
    return readJson(await chancery({}, ...words, '--home', this.#parts.folder, '--json')) as JsonObject
  }
}
