import { type JsonObject, readInstant } from '@chancery/protocol'
import { type Backend, accepted } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { text } from '../lib/rows.ts'
import { type Action, SPAN_SECONDS, type World, planHistory } from './actions.ts'
import { PastAuthority } from './authority.ts'
import { type ModelRecord, TrustModel } from './model.ts'
import { type Archive, Questions, writeArchive } from './questions.ts'

export const summary =
  'past states of random histories against a model: from the authority and archives, after restore and retention'
export const defaultCount = 1000

/** Histories of one authority. */
const PER_AUTHORITY = 200
const DAY_SECONDS = 86_400

/** Authorities on SQLite and PostgreSQL take turns, unless one is given. */
export async function run(options: CampaignOptions, backend?: Backend): Promise<CampaignResult> {
  const { count, seed, log } = options
  const random = seededRandom(seed)
  const totals = new Map<string, number>()
  let [violations, asked] = [0, 0]
  for (let done = 0, index = 0; done < count; index += 1) {
    const size = Math.min(PER_AUTHORITY, count - done)
    const engine = backend ?? (index % 2 === 0 ? 'sqlite' : 'postgres')
    const questions = await runAuthority(random, engine, size, log)
    for (const [name, times] of questions.counts) totals.set(name, (totals.get(name) ?? 0) + times)
    violations += questions.violations
    asked += questions.asked
    done += size
    if (index % 10 === 9) log(`${done} histories, ${asked} answers, ${violations} wrong`)
  }
  for (const [name, times] of totals) log(`${name}: ${times}`)
  return { cases: count, violations }
}

async function runAuthority(
  random: Random,
  backend: Backend,
  size: number,
  log: (line: string) => void,
): Promise<Questions> {
  const authority = await PastAuthority.open(backend)
  const world: World = { authority, model: new TrustModel(), random, texts: new Map(), policyIds: new Set() }
  const questions = new Questions(world, log)
  try {
    await new Life(world, questions).live(size)
    return questions
  } finally {
    await authority.close()
  }
}

/** The life of one authority: changes, a backup, more changes, a restore, archives and retention. */
class Life {
  readonly #world: World
  readonly #questions: Questions
  #elapsed = 0

  constructor(world: World, questions: Questions) {
    this.#world = world
    this.#questions = questions
  }

  async live(size: number): Promise<void> {
    const { authority, random } = this.#world
    const backedUpAt = Math.floor(SPAN_SECONDS * (0.4 + random.below(50) / 100))
    const isBackedUp = random.chance(75)
    const actions = await this.#plan(size, isBackedUp ? backedUpAt : SPAN_SECONDS)
    await this.#run(actions.filter(({ at }) => at <= backedUpAt))
    const backup = isBackedUp ? await this.#backUp() : undefined
    await this.#run(actions.filter(({ at }) => at > backedUpAt))
    await this.#ask('live')
    const before = await writeArchive(this.#world)
    await this.#askArchive('archive', before)
    if (backup !== undefined) {
      await this.#restore(backup)
      await this.#ask('restored')
      await this.#askArchive('archive from before the restore', before)
    }
    const after = await writeArchive(this.#world)
    authority.clock.advance(45 * DAY_SECONDS)
    await authority.removeOld()
    this.#world.model.removeEnded(authority.clock.now() - BigInt(30 * DAY_SECONDS) * 1_000_000n)
    await this.#ask('after retention')
    await this.#askArchive('archive after retention', after)
  }

  /** A new key comes before the backup: a database of a former key is refused, and is changed by hand. */
  async #plan(size: number, newKeyBefore: number): Promise<readonly Action[]> {
    const { authority, random } = this.#world
    const actions: Action[] = []
    for (let number = 0; number < size; number += 1) actions.push(...(await planHistory(this.#world, number)))
    if (random.chance(50)) actions.push({ at: random.below(newKeyBefore), run: () => authority.succeed() })
    return actions.sort((a, b) => a.at - b.at)
  }

  async #run(actions: readonly Action[]): Promise<void> {
    for (const action of actions) {
      this.#wait(action.at - this.#elapsed)
      await action.run()
    }
  }

  #wait(seconds: number): void {
    if (seconds <= 0) return
    this.#world.authority.clock.advance(seconds)
    this.#elapsed += seconds
  }

  /** The last change is at the time of the backup, so that the beginning of the lost time is known to the model. */
  async #backUp(): Promise<{ readonly folder: string; readonly at: bigint }> {
    const { authority, model } = this.#world
    await this.#change()
    const at = authority.clock.now()
    const folder = await authority.backUp()
    model.backUp()
    return { folder, at }
  }

  /** An attestation that no question is about. */
  async #change(): Promise<void> {
    const body = { subject_id: 'last-change', roles: ['role:client'] }
    accepted(await this.#world.authority.operate('POST', '/admin/attestations', body), 201)
  }

  async #restore({ folder, at }: { readonly folder: string; readonly at: bigint }): Promise<void> {
    const { authority, model } = this.#world
    // Without a change after the backup there would be nothing to recover.
    await this.#change()
    const lost = accepted(
      await authority.operate('POST', '/admin/attestations', { subject_id: 'lost', roles: ['role:client'] }),
      201,
    )
    accepted(await authority.operate('POST', `/admin/attestations/${text(lost, 'attestation_id')}/revoke`, {}))
    const list = accepted(await authority.request('GET', '/crl'))['revoked_certificates'] as readonly JsonObject[]
    const feed = accepted(await authority.request('GET', '/sovereign-revocation-feed'))
    this.#wait(600)
    const until = authority.clock.now()
    await authority.restore(folder)
    // Signed requests of the first five minutes are refused after a recovery.
    this.#wait(900)
    model.restore({
      gap: { from: at - authority.unsettled, until },
      list: new Map(list.map((entry) => [text(entry, 'certificate_id'), readInstant(text(entry, 'revoked_at')) ?? 0n])),
      feed: new Set(feed['revoked_attestation_ids'] as unknown as readonly string[]),
    })
    const stolen = list.filter((entry) => entry['reason'] === 'key_compromise')
    model.markCompromised(stolen.map((entry) => text(entry, 'certificate_id')))
  }

  async #ask(phase: string): Promise<void> {
    const { authority, model } = this.#world
    const view = model.view(authority.clock.now() - authority.unsettled)
    for (const record of this.#records()) await this.#questions.askAuthority(phase, record, view)
  }

  async #askArchive(phase: string, archive: Archive): Promise<void> {
    this.#questions.isOld = true
    for (const record of this.#records()) await this.#questions.askArchive(phase, archive, record)
    this.#questions.isOld = false
  }

  #records(): readonly ModelRecord[] {
    return [...this.#world.model.records.values()]
  }
}
