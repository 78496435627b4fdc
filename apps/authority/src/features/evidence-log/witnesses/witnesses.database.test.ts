import {
  applyLogPolicy,
  logOrigin,
  openCheckpoint,
  openLog,
  readCheckpointText,
  readLogPolicy,
  readNote,
  writeLogPolicy,
  writeWitnessKey,
} from '@chancery/protocol'
import type { JsonObject, LogIdentity } from '@chancery/protocol'
import { type TestAuthorityOptions, accepted, createMigratedDatabase, refused, testSigner } from '@chancery/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openTestStore } from '../../evidence/evidence.suite.ts'
import { TestWitness, makeLogKey } from './witness.suite.ts'

type Store = Awaited<ReturnType<typeof openTestStore>>

const ORIGIN = 'na.example.org/evidence-log'
let logKey: Awaited<ReturnType<typeof makeLogKey>>
let witness: TestWitness
const open: Store[] = []
const seconds = (): number => Math.floor(Date.parse('2026-01-02T03:04:05Z') / 1000)

beforeAll(async () => {
  logKey = await makeLogKey('log key')
})
afterEach(async () => {
  for (const store of open.splice(0)) await store.stop()
})
afterAll(async () => {
  await witness.stop()
})

async function start(
  settings: Readonly<Record<string, string>> = {},
  options: TestAuthorityOptions = {},
): Promise<Store> {
  const store = await openTestStore({
    ...options,
    settings: {
      NA_LOG_ORIGIN: ORIGIN,
      NA_LOG_PRIVATE_KEY_FILES: logKey.file,
      NA_LOG_WITNESSES: witness.setting,
      ...settings,
    },
  })
  open.push(store)
  return store
}

/** Two entries for each decision. */
async function grow(store: Store, decisions: number): Promise<void> {
  for (let count = 0; count < decisions; count += 1) await store.decide()
  await store.na.features.evidenceLog.append()
}

const read = async (store: Store, path: string): Promise<string> => (await store.na.request('GET', path)).text
const states = async (store: Store): Promise<JsonObject> => accepted(await store.get('/admin/evidence-log/witnesses'))
const stateOf = async (store: Store): Promise<JsonObject> =>
  ((await states(store))['witnesses'] as readonly JsonObject[])[0] ?? {}

/** The job of the authority may be asking at the same time; then this round is left to it. */
async function ask(store: Store, wanted: JsonObject): Promise<void> {
  const round = async (): Promise<JsonObject> => {
    await store.na.features.evidenceLog.askWitnesses()
    return stateOf(store)
  }
  await expect.poll(round, { timeout: 10_000 }).toMatchObject(wanted)
}

describe('a log with a name and a key', () => {
  beforeAll(async () => {
    witness = await TestWitness.start('first.example', [{ name: ORIGIN, publicKey: logKey.publicKey }], seconds)
  })

  it('signs with its key and with that of the authority, which signs the record of both', async () => {
    const store = await start()
    await grow(store, 2)
    const note = await read(store, '/evidence-log/checkpoint')
    const authority = store.na.core.signing.publicKey
    for (const key of [logKey.publicKey, authority]) expect((await openCheckpoint(note, ORIGIN, key))?.size).toBe(4)
    const described = accepted(await store.na.request('GET', '/evidence-log'))
    const identity = described['log_identity'] as unknown as LogIdentity
    const { genesis } = store.na
    expect(identity.public_keys).toEqual([logKey.publicKey])
    expect((await openLog(note, { genesis }, identity))?.size).toBe(4)
    // Without the record this name is unknown, and a changed record counts for nothing.
    expect(await openLog(note, { genesis })).toBeUndefined()
    expect(await openLog(note, { genesis }, { ...identity, public_keys: [] })).toBeUndefined()
    expect(await openLog(note, { genesis }, { ...identity, sovereign_id: 'OTHER-NET' })).toBeUndefined()
  })

  it('gets a cosignature, serves it, and the quorum of a policy is met', async () => {
    const store = await start()
    refused(await store.na.request('GET', '/evidence-log/cosigned-checkpoint'), 404, 'not_found')
    const before = witness.store.last(ORIGIN)?.size ?? 0
    await grow(store, 3)
    await ask(store, { known_size: 6 })
    expect(before).toBe(0)
    const note = await read(store, '/evidence-log/cosigned-checkpoint')
    const { verifier_keys, witnesses, quorum } = accepted(await store.na.request('GET', '/evidence-log')) as {
      verifier_keys: readonly string[]
      witnesses: readonly string[]
      quorum: number
    }
    const policy = readLogPolicy(writeLogPolicy(verifier_keys, witnesses, quorum))
    expect(await applyLogPolicy(note, policy)).toMatchObject({ hasQuorum: true, cosigners: ['first.example'] })
    expect(await states(store)).toMatchObject({ tree_size: 6, cosigned_size: 6, cosigners: 1, pending_since: null })
    expect(witness.events).toEqual([{ event: 'cosigned', origin: ORIGIN, size: 6, known_size: 0 }])
    // A second round without growth asks no witness; growth is proved from the size the witness has.
    await store.na.features.evidenceLog.askWitnesses()
    await grow(store, 2)
    await ask(store, { known_size: 10 })
    expect(witness.events.map(({ size }) => size)).toEqual([6, 10])
    expect(readCheckpointText(readNote(await read(store, '/evidence-log/cosigned-checkpoint'))?.text ?? '')?.size).toBe(
      10,
    )
  })

  it('raises an alarm when the witness has more entries, and signs nothing with its proof', async () => {
    // The same keys with an empty database: what a restored old backup looks like.
    const store = await start()
    await grow(store, 1)
    await ask(store, { alarm: 'rolled_back', alarm_size: 10, proven: true })
    expect(await store.na.auditEvents('evidence_log_witness_alarm')).toHaveLength(1)
    const metrics = await read(store, '/metrics')
    expect(metrics).toContain('chancery_evidence_log_witness_alarms 1')
    expect(accepted(await store.na.request('GET', '/health'))['reasons']).toContain('evidence_log_witness_alarm')
    await store.decide()
    await expect(store.na.features.evidenceLog.append()).rejects.toMatchObject({ code: 'service_unavailable' })
    expect((await read(store, '/evidence-log/checkpoint')).split('\n')[1]).toBe('2')
    // Also after it has as many entries again, and more: they are others.
    for (let count = 0; count < 5; count += 1) await store.decide()
    await expect(store.na.features.evidenceLog.append()).rejects.toMatchObject({ code: 'service_unavailable' })
    expect((await read(store, '/evidence-log/checkpoint')).split('\n')[1]).toBe('2')
    expect(witness.store.last(ORIGIN)?.size).toBe(10)
    // One alarm is one event, however often the witness repeats it.
    await store.na.features.evidenceLog.askWitnesses()
    expect(await store.na.auditEvents('evidence_log_witness_alarm')).toHaveLength(1)
  })

  it('keeps the proof of a rollback when the witness loses its state and cosigns again', async () => {
    const database = await createMigratedDatabase()
    const reset = await TestWitness.start('first.example', [{ name: ORIGIN, publicKey: logKey.publicKey }], seconds)
    try {
      const store = await start({}, { database })
      await grow(store, 1)
      await ask(store, { alarm: 'rolled_back', alarm_size: 10, proven: true })
      await store.stop()
      open.splice(open.indexOf(store), 1)
      const again = await openTestStore({
        database,
        settings: {
          NA_LOG_ORIGIN: ORIGIN,
          NA_LOG_PRIVATE_KEY_FILES: logKey.file,
          NA_LOG_WITNESSES: reset.setting,
        },
      })
      await ask(again, { alarm: 'rolled_back', alarm_size: 10, proven: true, known_size: 2 })
      expect(reset.store.last(ORIGIN)?.size).toBe(2)
      await again.decide()
      await expect(again.na.features.evidenceLog.append()).rejects.toMatchObject({ code: 'service_unavailable' })
      await again.stop()
    } finally {
      await reset.stop()
      await database.drop()
    }
  })

  it('counts no cosignature of a key that its witness has no more', async () => {
    const database = await createMigratedDatabase()
    const other = await TestWitness.start('other.example', [{ name: ORIGIN, publicKey: logKey.publicKey }], seconds)
    try {
      const store = await start({ NA_LOG_WITNESSES: other.setting }, { database })
      await grow(store, 1)
      await ask(store, { known_size: 2 })
      expect(await states(store)).toMatchObject({ cosigners: 1, pending_since: null })
      await store.stop()
      open.splice(open.indexOf(store), 1)
      const { publicKey } = await testSigner('other.example', 'another key')
      const key = writeWitnessKey({ name: 'other.example', publicKey })
      const again = await start({ NA_LOG_WITNESSES: `${key} http://127.0.0.1:1/` }, { database, clock: store.clock })
      await ask(again, { failure: 'unreachable' })
      await expect.poll(async () => (await states(again))['pending_since']).not.toBeNull()
      await again.stop()
      open.splice(open.indexOf(again), 1)
    } finally {
      await other.stop()
      await database.drop()
    }
  })

  it.each([
    ['of the same size', 5],
    ['that grew', 7],
  ])('raises an alarm for a fork %s', async (_name, decisions) => {
    const store = await start()
    await grow(store, decisions)
    await ask(store, { alarm: 'forked', alarm_size: 10, proven: true })
    await store.decide()
    await expect(store.na.features.evidenceLog.append()).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(witness.store.last(ORIGIN)?.size).toBe(10)
  })

  it('stores both checkpoints of a fork as evidence', () => {
    expect(witness.store.contradictions(ORIGIN)).toHaveLength(1)
    expect(witness.events.filter(({ event }) => event === 'forked')).toHaveLength(1)
  })

  it('keeps its name after the first entry, also without the setting', async () => {
    const database = await createMigratedDatabase()
    try {
      const settings = { NA_LOG_WITNESSES: '' }
      const first = await openTestStore({ database, settings: { NA_LOG_ORIGIN: ORIGIN } })
      await grow(first, 1)
      await first.stop()
      await expect(
        openTestStore({ database, settings: { ...settings, NA_LOG_ORIGIN: 'other.example/log' } }),
      ).rejects.toThrow(/NA_LOG_ORIGIN: the log has entries under the name na\.example\.org\/evidence-log/)
      const again = await openTestStore({ database })
      await grow(again, 1)
      expect((await read(again, '/evidence-log/checkpoint')).split('\n').slice(0, 2)).toEqual([ORIGIN, '4'])
      await again.stop()
    } finally {
      await database.drop()
    }
  })

  it('takes the name of the setting while it is empty, and a log key after the first entry', async () => {
    const database = await createMigratedDatabase()
    try {
      const first = await openTestStore({ database })
      await first.na.features.evidenceLog.append()
      await first.stop()
      const named = await openTestStore({ database, settings: { NA_LOG_ORIGIN: 'named.example/log' } })
      await grow(named, 1)
      await named.stop()
      const keyed = await openTestStore({ database, settings: { NA_LOG_PRIVATE_KEY_FILES: logKey.file } })
      await keyed.na.features.evidenceLog.append()
      const note = await read(keyed, '/evidence-log/checkpoint')
      expect(note.split('\n').slice(0, 2)).toEqual(['named.example/log', '2'])
      for (const key of [logKey.publicKey, keyed.na.core.signing.publicKey])
        expect((await openCheckpoint(note, 'named.example/log', key))?.size).toBe(2)
      // Rotation: both keys sign, and the record lists both.
      await keyed.stop()
      const next = await makeLogKey('next log key')
      const rotated = await openTestStore({
        database,
        settings: { NA_LOG_PRIVATE_KEY_FILES: `${next.file}, ${logKey.file}` },
      })
      await rotated.na.features.evidenceLog.append()
      const both = await read(rotated, '/evidence-log/checkpoint')
      for (const key of [next.publicKey, logKey.publicKey])
        expect((await openCheckpoint(both, 'named.example/log', key))?.size).toBe(2)
      const { log_identity } = accepted(await rotated.na.request('GET', '/evidence-log'))
      expect(log_identity).toMatchObject({ public_keys: [next.publicKey, logKey.publicKey] })
      await rotated.stop()
    } finally {
      await database.drop()
    }
  })

  it('never stops for a witness that fails, and reports the missing quorum', async () => {
    const database = await createMigratedDatabase()
    const store = await start({ NA_LOG_WITNESSES: `${witness.verifierKey} http://127.0.0.1:1/` }, { database })
    await grow(store, 1)
    await ask(store, { failure: 'unreachable', alarm: null })
    expect((await states(store))['pending_since']).not.toBeNull()
    store.clock.advance(1000)
    expect(await read(store, '/metrics')).toMatch(/chancery_evidence_log_unwitnessed_seconds 1000/)
    expect(accepted(await store.na.request('GET', '/health'))['reasons']).toContain('evidence_log_unwitnessed')
    await grow(store, 1)
    expect((await read(store, '/evidence-log/checkpoint')).split('\n')[1]).toBe('4')
    await store.stop()
    open.splice(open.indexOf(store), 1)
    // Without witnesses in the settings nothing is missing.
    const alone = await openTestStore({ database, clock: store.clock })
    expect(await read(alone, '/metrics')).toMatch(/chancery_evidence_log_unwitnessed_seconds 0/)
    expect(accepted(await alone.na.request('GET', '/health'))['reasons']).not.toContain('evidence_log_unwitnessed')
    await alone.stop()
    await database.drop()
  })
})

it('the usual name follows from the network, without any setting', async () => {
  const store = await openTestStore()
  open.push(store)
  await grow(store, 1)
  const note = await read(store, '/evidence-log/checkpoint')
  expect(note.split('\n')[0]).toBe(logOrigin(store.na.genesis.network_name))
  expect((await openLog(note, { genesis: store.na.genesis }))?.size).toBe(2)
})
