import { isJsonObject, type JsonObject, type Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestNetwork, EndedAtStartError, nodeCaller, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, NodeCaller, TestDatabase, TestNetwork, TestResponse } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { endingOf, killBoth, type KillTarget, type KillTargetParts } from '../lib/kill-target.ts'
import type { Random } from '../lib/random.ts'
import { Acks, newSigner, text, waitUntilIdle, withRows } from '../lib/rows.ts'
import { checkEnrollment } from './checks.ts'

/** Load on an authority until it is killed: invites, joins, renewals, heartbeats, revocations, readers of the list. */
interface Load {
  /** Resolves when the authority no longer responds, or after `seconds`; true when it was killed. */
  run(seconds: number): Promise<boolean>
  /** Responses that the specification does not allow. */
  readonly violations: readonly string[]
}

interface Member {
  readonly cert_id: string
  readonly node: NodeCaller
}

const WORKERS = 6
const REASONS = ['unspecified', 'cessation_of_operation', 'superseded', 'key_compromise'] as const
/** A node may be refused because another worker revoked its certificate or reported its key as compromised. */
const NODE_REFUSALS = ['certificate_revoked', 'node_key_compromised', 'certificate_superseded']

// oxlint-disable-next-line max-lines-per-function -- the workers share their members and violations
export function createLoad(process: AuthorityProcess, acks: Acks, random: Random): Load {
  const members: Member[] = []
  const violations: string[] = []
  let isDead = false

  /** Returns the body if it has this status; undefined for allowed refusals. Notes every other response. */
  const take = (answer: TestResponse, status: number, allowed: readonly string[] = []): JsonObject | undefined => {
    if (answer.status === status && isJsonObject(answer.json)) return answer.json
    const error = isJsonObject(answer.json) ? answer.json['error'] : undefined
    const code = isJsonObject(error) ? text(error, 'code') : ''
    if (!allowed.includes(code)) violations.push(`answered ${answer.status} ${answer.text.slice(0, 200)}`)
    return undefined
  }

  const join = async (signer: Signer): Promise<void> => {
    const invite = take(await process.as('standard')('POST', '/admin/invite', {}), 201)
    if (invite === undefined) return
    const token = text(invite, 'token_id')
    acks.invites.add(token)
    const node = nodeCaller(process.url, signer, () => systemClock.now())
    const answer = await node.join(token)
    const certificate = take(answer, 201, NODE_REFUSALS)
    if (certificate === undefined) return
    const cert_id = text(certificate, 'cert_id')
    acks.certificates.set(cert_id, answer.text)
    members.push({ cert_id, node })
  }

  const renew = async ({ node, cert_id }: Member): Promise<void> => {
    const answer = await node.renew(cert_id)
    const certificate = take(answer, 201, NODE_REFUSALS)
    if (certificate === undefined) return
    acks.certificates.set(text(certificate, 'cert_id'), answer.text)
    members.push({ cert_id: text(certificate, 'cert_id'), node })
  }

  const revoke = async ({ cert_id }: Member): Promise<void> => {
    const reason = random.pick(REASONS)
    const answer = take(
      await process.as('privileged')('POST', '/admin/revoke', { cert_id, reason, all_of_key: false }),
      200,
    )
    if (answer === undefined) return
    acks.revoked(cert_id, reason)
    acks.lastSequence = Math.max(acks.lastSequence, Number(answer['crl_sequence']))
  }

  const readList = async (): Promise<void> => {
    const list = take(await process.request('GET', '/crl'), 200)
    if (list !== undefined) acks.lastSequence = Math.max(acks.lastSequence, Number(list['sequence']))
  }

  const step = async (): Promise<void> => {
    const member = members[random.below(Math.max(members.length, 1))]
    const dice = random.below(100)
    if (member === undefined || dice < 35)
      return join(member !== undefined && dice < 5 ? member.node.signer : await newSigner(random))
    if (dice < 60) return renew(member)
    if (dice < 85) return revoke(member)
    if (dice < 93) return readList()
    take(await member.node.heartbeat(member.cert_id), 200, NODE_REFUSALS)
  }

  const work = async (until: number): Promise<void> => {
    while (!isDead && performance.now() < until) {
      // A broken connection is the kill. The outcome of running calls is unknown, so they are not recorded.
      await step().catch(() => {
        isDead = true
      })
    }
  }

  return {
    violations,
    run: async (seconds) => {
      const until = performance.now() + seconds * 1000
      await Promise.all(Array.from({ length: WORKERS }, () => work(until)))
      return isDead
    },
  }
}

/** Points of apps/authority/src/faults/fault-points.ts. */
const POINTS = [
  'join-read',
  'join-proved',
  'join-sealed',
  'join-committed',
  'renew-locked',
  'renew-sealed',
  'renew-stored',
  'renew-committed',
  'revoke-marked',
  'revoke-committed',
  'crl-signed',
  'crl-stored',
] as const

/** Every version contains the whole list, and every check reads all versions. */
const KILLS_PER_DATABASE = 8
const LOAD_SECONDS = 30
const MAX_HITS_BEFORE = 12

/** kill -9 of an authority at named points of join, renew and revoke: nothing acknowledged is lost. */
export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const network = await createTestNetwork('KILL-NET')
  try {
    return await killBoth(options, (parts) => new EnrollmentTarget(network, parts))
  } finally {
    await network.remove()
  }
}

/** Stores acknowledged results outside the authority. Every start checks the state after the last kill. */
class EnrollmentTarget implements KillTarget {
  readonly violations: string[] = []
  acks = 0
  readonly #network: TestNetwork
  readonly #parts: KillTargetParts
  #database: TestDatabase | undefined
  #process: AuthorityProcess | undefined
  #acks = new Acks()
  /** The kill that the next start checks. */
  #last = ''

  constructor(network: TestNetwork, parts: KillTargetParts) {
    this.#network = network
    this.#parts = parts
  }

  async kill(turn: number): Promise<void> {
    const { backend, random, createDatabase } = this.#parts
    if (turn % KILLS_PER_DATABASE === 0) await this.finish()
    const point = POINTS[turn % POINTS.length] ?? POINTS[0]
    this.#database ??= await createDatabase()
    const fault = { CHANCERY_FAULT_POINT: point, CHANCERY_FAULT_AFTER: String(random.below(MAX_HITS_BEFORE)) }
    try {
      this.#process = await this.#start(this.#database, fault)
      await this.#inspect(this.#database)
      this.#last = `${backend} at ${point}`
      await this.#loadUntilDead(this.#process)
    } catch (error) {
      // The job of the authority signs the first list, so a publishing point may be reached before the first request.
      if (!(error instanceof EndedAtStartError && error.ending === 'SIGKILL')) throw error
    }
    await waitUntilIdle(this.#database)
  }

  async finish(): Promise<void> {
    if (this.#database === undefined) return
    this.#process = await this.#start(this.#database, {})
    await this.#inspect(this.#database)
    const list = await this.#process.request('GET', '/crl')
    if (list.status !== 200) this.#note(`after the start GET /crl answers ${list.status}`)
    await this.close()
  }

  async close(): Promise<void> {
    await this.#process?.kill()
    await this.#database?.drop()
    this.#process = undefined
    this.#database = undefined
    this.#acks = new Acks()
  }

  #start(database: TestDatabase, fault: Readonly<Record<string, string>>): Promise<AuthorityProcess> {
    return startAuthorityProcess({ network: this.#network, settings: { ...database.settings, ...fault } })
  }

  #note(sentence: string): void {
    this.violations.push(`${this.#last}: ${sentence}`)
  }

  async #loadUntilDead(process: AuthorityProcess): Promise<void> {
    const before = this.#acks.size
    const load = createLoad(process, this.#acks, this.#parts.random)
    const isDead = await load.run(LOAD_SECONDS)
    const ending = await endingOf(process)
    this.acks += this.#acks.size - before
    for (const violation of load.violations) this.#note(violation)
    if (!isDead) this.#note('the point was never met')
    else if (ending !== 'SIGKILL') this.#note(`ended by ${ending}`)
  }

  /** Read directly from the database, after an authority has opened it again. */
  async #inspect(database: TestDatabase): Promise<void> {
    const { publicKey } = this.#network.authority
    const found = await withRows(database, async (rows) => [
      ...(await this.#acks.check(rows)),
      ...(await checkEnrollment(rows, { authorityKey: publicKey })),
    ])
    for (const violation of found) this.#note(violation)
  }
}
