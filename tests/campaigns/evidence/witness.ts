import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signCheckpoint, type Signer, toBase64, writeAddCheckpoint } from '@chancery/protocol'
import { testSigner } from '@chancery/testkit'
import { type WitnessAnswer, WitnessService } from '../../../apps/cli/src/commands/evidence/witness-service.ts'
import { WitnessStore } from '../../../apps/cli/src/commands/evidence/witness-store.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { killWitnesses, rollBackLogs } from './witness-logs.ts'

export const summary =
  'witnesses and logs: growth, rollbacks, forks, replays, races, crashes, wrong proofs and keys; no two histories are cosigned, and every rollback alarms'
export const defaultCount = 1000

const SHOWN = 10
const ORIGIN = 'log.example/evidence-log'
/** Requests of one case. */
const STEPS = 20
/** One case in this many runs a real authority against the witness, and one kills real processes. */
const AUTHORITY_EVERY = 25
const KILL_EVERY = 100

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const violations: string[] = []
  const seen = { requests: 0, cosigned: 0, refused: 0, crashes: 0, alarms: 0, kills: 0 }
  const rollbacks: number[] = []
  const kills: number[] = []
  for (let at = 0; at < count; at += 1) {
    if (at % KILL_EVERY === KILL_EVERY - 1) kills.push(at)
    else if (at % AUTHORITY_EVERY === AUTHORITY_EVERY - 1) rollbacks.push(at)
    else {
      const found = await tryWitness(random, seen)
      for (const violation of found) violations.push(`case ${at}: ${violation}`)
    }
  }
  const authority = await rollBackLogs(rollbacks.length, random)
  seen.alarms += authority.alarms
  violations.push(...authority.violations)
  const killed = await killWitnesses(kills.length, random)
  seen.kills += killed.kills
  violations.push(...killed.violations)
  for (const violation of violations.slice(0, SHOWN)) log(`violation: ${violation}`)
  log(JSON.stringify(seen))
  return { cases: count, violations: violations.length }
}

/** A log as plain leaves, with its tree by another implementation. A fork shares a beginning. */
class ToyLog {
  readonly leaves: Buffer[]

  constructor(leaves: readonly Buffer[] = []) {
    this.leaves = [...leaves]
  }

  grow(random: Random): void {
    for (let count = 1 + random.below(6); count > 0; count -= 1)
      this.leaves.push(sha(Buffer.from(`${random.next()}-${random.next()}`)))
  }

  fork(at: number): ToyLog {
    return new ToyLog(this.leaves.slice(0, at))
  }

  root(size: number): Buffer {
    return hashRange(this.leaves.slice(0, size))
  }

  /** PROOF(m, D[n]) of RFC 6962, 2.1.2. */
  proof(m: number, n: number): readonly Buffer[] {
    const sub = (older: number, leaves: readonly Buffer[], isWhole: boolean): readonly Buffer[] => {
      if (older === leaves.length) return isWhole ? [] : [hashRange(leaves)]
      const k = split(leaves.length)
      if (older <= k) return [...sub(older, leaves.slice(0, k), isWhole), hashRange(leaves.slice(k))]
      return [...sub(older - k, leaves.slice(k), false), hashRange(leaves.slice(0, k))]
    }
    return m === 0 || m === n ? [] : sub(m, this.leaves.slice(0, n), true)
  }
}

/** A cosigned tree. All of one case must be beginnings of the largest one. */
interface Cosigned {
  readonly size: number
  readonly root: string
  readonly log: ToyLog
}

class CrashError extends Error {}

interface Seen {
  requests: number
  cosigned: number
  refused: number
  crashes: number
}

/** Random requests to one witness, which crashes and starts again on the same files. */
async function tryWitness(random: Random, seen: Seen): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-campaign-'))
  const keys = {
    log: await testSigner('log', 'campaign log'),
    other: await testSigner('other', 'campaign other'),
    witness: await testSigner('witness.example', 'campaign witness'),
  }
  const attempt = new Attempt(random, folder, keys, seen)
  try {
    await attempt.open(true)
    for (let step = 0; step < STEPS; step += 1) await attempt.step()
    return attempt.violations
  } finally {
    attempt.close()
    await rm(folder, { recursive: true })
  }
}

interface Keys {
  readonly log: Signer
  readonly other: Signer
  readonly witness: Signer
}

interface Asked {
  readonly log: ToyLog
  readonly size: number
  readonly oldSize: number
  readonly body: string
  /** A request that no witness may cosign, whatever it stores. */
  readonly isBad: boolean
}

class Attempt {
  readonly violations: string[] = []
  readonly #random: Random
  readonly #folder: string
  readonly #keys: Keys
  readonly #seen: Seen
  readonly #cosigned: Cosigned[] = []
  readonly #logs: ToyLog[] = [new ToyLog()]
  readonly #sent: Asked[] = []
  #store: WitnessStore | undefined
  #service: WitnessService | undefined
  /** Requests until the next crash between storing and answering. */
  #crashIn = Number.POSITIVE_INFINITY

  constructor(random: Random, folder: string, keys: Keys, seen: Seen) {
    this.#random = random
    this.#folder = folder
    this.#keys = keys
    this.#seen = seen
  }

  async open(isNew: boolean): Promise<void> {
    const store = await WitnessStore.open(this.#folder, isNew)
    this.#store = store
    this.#service = new WitnessService({
      store,
      signer: this.#keys.witness,
      logs: [{ name: ORIGIN, publicKey: this.#keys.log.publicKey }],
      unixSeconds: () => 1_900_000_000,
      report: () => undefined,
      afterStore: () => {
        this.#crashIn -= 1
        if (this.#crashIn <= 0) throw new CrashError()
      },
    })
  }

  close(): void {
    this.#store?.close()
  }

  async step(): Promise<void> {
    const random = this.#random
    this.#crashIn = random.chance(10) ? 1 : Number.POSITIVE_INFINITY
    const requests: Asked[] = []
    for (let count = random.chance(25) ? 2 + random.below(4) : 1; count > 0; count -= 1)
      requests.push(await this.#makeRequest())
    const before = this.#store?.last(ORIGIN)
    const answers = await Promise.all(requests.map((asked) => this.#send(asked)))
    if (answers.includes(undefined)) {
      this.#seen.crashes += 1
      this.close()
      await this.open(false)
    }
    const after = this.#store?.last(ORIGIN)
    if ((after?.size ?? 0) < (before?.size ?? 0)) this.violations.push('the state of the witness became smaller')
    for (const [at, asked] of requests.entries()) this.#check(asked, answers[at])
    const [asked] = requests
    if (requests.length === 1 && asked !== undefined && answers[0] !== undefined)
      this.#compare(asked, answers[0].status === 200, before ?? { size: 0, root: sha() })
  }

  /** Cosigned exactly when the request is good and continues what was stored. */
  #compare(asked: Asked, isCosigned: boolean, before: { readonly size: number; readonly root: Uint8Array }): void {
    const { log, size, oldSize, isBad } = asked
    const continues = oldSize === before.size && oldSize <= size && log.root(oldSize).equals(before.root)
    const wanted = !isBad && continues
    if (wanted !== isCosigned)
      this.violations.push(`${oldSize} to ${size} on ${before.size}: ${isCosigned ? 'cosigned' : 'refused'}`)
  }

  /** Undefined when the witness crashed. */
  async #send(asked: Asked): Promise<WitnessAnswer | undefined> {
    this.#seen.requests += 1
    try {
      return await this.#service?.addCheckpoint(asked.body)
    } catch (error) {
      if (error instanceof CrashError) return undefined
      throw error
    }
  }

  #check({ log, size, isBad }: Asked, answer: WitnessAnswer | undefined): void {
    if (answer === undefined) return
    const stored = this.#store?.last(ORIGIN)
    if (answer.status !== 200) {
      this.#seen.refused += 1
      if (![400, 403, 404, 409, 422, 503].includes(answer.status)) this.violations.push(`status ${answer.status}`)
      return
    }
    this.#seen.cosigned += 1
    if (isBad) this.violations.push('a bad request was cosigned')
    const root = toBase64(log.root(size))
    for (const other of this.#cosigned) {
      const [small, large] = other.size <= size ? [other, { size, log }] : [{ size, log }, other]
      const isSame = large.log.root(small.size).equals(small.log.root(small.size))
      if (!isSame) this.violations.push(`two histories were cosigned, of ${other.size} and ${size} entries`)
    }
    if ((stored?.size ?? 0) < size) this.violations.push('a cosigned checkpoint is not stored')
    this.#cosigned.push({ size, root, log })
  }

  async #makeRequest(): Promise<Asked> {
    const random = this.#random
    // A replay of anything that was sent before, also of requests that the witness cosigned.
    if (this.#sent.length > 0 && random.chance(15)) return this.#sent[random.below(this.#sent.length)] ?? this.#draft()
    const asked = await this.#draft()
    this.#sent.push(asked)
    return asked
  }

  async #draft(): Promise<Asked> {
    const random = this.#random
    if (random.chance(15)) {
      const from = this.#logs[random.below(this.#logs.length)] ?? new ToyLog()
      this.#logs.push(from.fork(random.below(from.leaves.length + 1)))
    }
    // Mostly the first log, which never forks.
    const log = this.#logs[random.chance(60) ? 0 : random.below(this.#logs.length)] ?? new ToyLog()
    if (random.chance(80)) log.grow(random)
    const known = this.#store?.last(ORIGIN)?.size ?? 0
    const size = random.chance(80) ? log.leaves.length : random.below(log.leaves.length + 1)
    const oldSize = random.chance(85) ? Math.min(known, size) : random.below(size + 3)
    const kind = random.below(20)
    const proof = log.proof(Math.min(oldSize, size), size)
    const wrong = kind === 0 ? [...proof, sha(Buffer.from('more'))] : proof.slice(kind === 1 ? 1 : 0)
    const isWrongProof = wrong.length !== proof.length
    const origin = kind === 2 ? 'unknown.example/log' : ORIGIN
    const signer = kind === 3 ? this.#keys.other : this.#keys.log
    const root = log.root(size)
    const note = await signCheckpoint({ origin, size, root }, signer)
    const checkpoint = kind === 4 ? note.replace(`\n${size}\n`, `\n${size + 1}\n`) : note
    const body = writeAddCheckpoint({ oldSize, proof: wrong, checkpoint })
    return { log: new ToyLog(log.leaves), size, body, oldSize, isBad: (kind >= 2 && kind <= 4) || isWrongProof }
  }
}

function sha(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

function split(count: number): number {
  let power = 1
  while (power * 2 < count) power *= 2
  return power
}

function hashRange(leaves: readonly Buffer[]): Buffer {
  const [first] = leaves
  if (first === undefined) return sha()
  if (leaves.length === 1) return sha(Uint8Array.of(0), first)
  const k = split(leaves.length)
  return sha(Uint8Array.of(1), hashRange(leaves.slice(0, k)), hashRange(leaves.slice(k)))
}
