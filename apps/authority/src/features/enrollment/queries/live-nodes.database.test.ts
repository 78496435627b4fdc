import { randomUUID } from 'node:crypto'
import { seconds, writeSortable } from '@chancery/protocol'
import { ManualClock, type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { countLiveNodes, foldLivenessCounts } from '../../../database/liveness-counts.ts'
import { rowsOf } from '../../../testing/rows.suite.ts'
import { activeMoment, countByRows, markRevoked } from './certificates.ts'
import { storeHeartbeats } from './gathered-heartbeats.ts'
import { supersede } from './renewals.ts'

const KEYS = 12
const STEPS = 250
const GRACE_SECONDS = 900
const SEED = 20_261_118

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock })
})
afterAll(() => na.stop())

/** Numbers from 0 up to, not including, the bound; the same ones in each run. */
function generator(seed: number): (bound: number) => number {
  let state = seed
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}

/** What joins, renewals, heartbeats, revocations, retention and the job of silent nodes write. */
class Fleet {
  readonly #random = generator(SEED)
  #certificates: { readonly cert_id: string; readonly node_public_key: string }[] = []

  readonly steps: Readonly<Record<string, () => Promise<void>>> = {
    join: () => this.issue(`key-${this.#random(KEYS)}`),
    renew: () => this.#renew(),
    beat: () => this.#beat(),
    revoke: () => this.#revoke(),
    remove: () => this.#remove(),
    pass: async () => clock.advance(this.#random(200)),
    fold,
  }

  async step(): Promise<string> {
    const names = ['join', 'renew', 'beat', 'beat', 'beat', 'revoke', 'remove', 'pass', 'pass', 'fold']
    const name = names[this.#random(names.length)] ?? 'beat'
    await this.steps[name]?.()
    return name
  }

  async issue(node_public_key: string): Promise<void> {
    const cert_id = randomUUID()
    const at = writeSortable(clock.now())
    const db = rowsOf(na.core.database)
    const row = { cert_id, node_public_key, cert_json: '{}', roles_json: '[]', issued_at: at, status: 'issued' }
    await db
      .insertInto('issued_certs')
      .values({ ...row, expires_at: writeSortable(clock.now() + seconds(86_400)), max_validity_hours: 24 })
      .execute()
    await db
      .insertInto('node_liveness')
      .values({ cert_id, node_public_key, last_heartbeat: at, heartbeat_status: 'joined', remote_addr: '192.0.2.1' })
      .execute()
    this.#certificates.push({ cert_id, node_public_key })
  }

  #any(): { readonly cert_id: string; readonly node_public_key: string } | undefined {
    return this.#certificates[this.#random(this.#certificates.length)]
  }

  async #renew(): Promise<void> {
    const old = this.#any()
    if (old === undefined) return
    await this.issue(old.node_public_key)
    const revoke_after = writeSortable(clock.now() + seconds(GRACE_SECONDS))
    await na.core.database.write((tx) => supersede(tx, old.cert_id, { revoke_after, list_after: null }))
  }

  async #beat(): Promise<void> {
    const certificate = this.#any()
    if (certificate === undefined) return
    const [signed_at, last_heartbeat] = [Number(clock.now()), writeSortable(clock.now())]
    const columns = { heartbeat_status: 'ok', remote_addr: '192.0.2.1', genesis_digest: null }
    await storeHeartbeats(na.core.database, [{ ...certificate, ...columns, signed_at, last_heartbeat }], clock.now())
  }

  async #revoke(): Promise<void> {
    const certificate = this.#any()
    if (certificate === undefined) return
    const at = writeSortable(clock.now())
    await na.core.database.write((tx) => markRevoked(tx, [certificate.cert_id], at, 'unspecified'))
    this.#drop(certificate.cert_id)
  }

  async #remove(): Promise<void> {
    const certificate = this.#any()
    if (certificate === undefined) return
    await rowsOf(na.core.database).deleteFrom('node_liveness').where('cert_id', '=', certificate.cert_id).execute()
    this.#drop(certificate.cert_id)
  }

  #drop(cert_id: string): void {
    this.#certificates = this.#certificates.filter((each) => each.cert_id !== cert_id)
  }
}

const fold = () =>
  foldLivenessCounts(na.core.database, writeSortable(clock.now() - seconds(600)), new AbortController().signal)

/** As the job does in a large network. */
async function markSilent(): Promise<void> {
  const { since } = activeMoment(na.core)
  await sql`update node_liveness set silent_since = last_heartbeat
    where silent_since is null and revoke_after is null and last_heartbeat <= ${since}`.execute(
    rowsOf(na.core.database),
  )
}

it('counts by the counter what a count of all rows gives, after every one of random changes', async () => {
  const fleet = new Fleet()
  const { read } = na.core.database
  const seen = new Set<number>()
  for (let index = 0; index < STEPS; index += 1) {
    const step = await fleet.step()
    await markSilent()
    const moment = activeMoment(na.core)
    const counted = await countByRows(read, moment)
    expect(await countLiveNodes(read, moment), `step ${index}, ${step}`).toBe(counted)
    seen.add(counted)
  }
  // Otherwise the comparison shows nothing.
  expect(seen.size).toBeGreaterThan(4)
  const twins = await read.selectFrom('node_liveness_twins').selectAll().execute()
  expect(twins.length).toBeLessThanOrEqual(KEYS)
})

it('adds up what statements left, and deletes keys that have one certificate again', async () => {
  const { database } = na.core
  const rows = rowsOf(database)
  await rows.deleteFrom('node_liveness').execute()
  await fold()
  expect(await rows.selectFrom('node_liveness_counts').select(['id']).execute()).toEqual([{ id: '' }])
  const [sum] = await rows.selectFrom('node_liveness_counts').select('live').execute()
  expect(Number(sum?.live)).toBe(0)
  expect(await rows.selectFrom('node_liveness_twins').selectAll().execute()).toEqual([])
})

it('counts a key once that joins four times at the same time', async () => {
  const { database } = na.core
  const fleet = new Fleet()
  await Promise.all(Array.from({ length: 4 }, () => fleet.issue('one key')))
  await fold()
  const moment = activeMoment(na.core)
  expect(await countLiveNodes(database.read, moment)).toBe(1)
  expect(await countByRows(database.read, moment)).toBe(1)
})
