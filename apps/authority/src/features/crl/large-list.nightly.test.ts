import { createHash } from 'node:crypto'
import { CompactCrl, DAY, canonicalJson, joinBytes, toUtf8, writeInstant, writeSortable } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  createTestDatabase,
  seedCertificates,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { JsonObject } from '@chancery/protocol'
import type { TestAuthority } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const ENTRIES = 500_000
const LOOP_MS = 50

/** The longest processor time of this thread between two turns of its event loop, while `work` runs. */
async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  const own = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let [longest, before] = [0, own()]
  const timer = setInterval(() => {
    const now = own()
    longest = Math.max(longest, now - before)
    before = now
  }, 2)
  await work()
  clearInterval(timer)
  return longest
}

async function seedEntries(na: TestAuthority, clock: ManualClock): Promise<void> {
  const [revoked_at, expires_at] = [writeInstant(clock.now()), writeSortable(clock.now() + 300n * DAY)]
  for (let from = 1; from <= ENTRIES; from += 1000) {
    const rows = Array.from({ length: 1000 }, (_, index) => {
      const position = from + index
      const cert_id = createHash('sha256').update(String(position)).digest('hex').slice(0, 36)
      const entry = { certificate_id: cert_id, issuer: 'na-test', reason: 'unspecified', revoked_at }
      return { position, cert_id, entry_json: canonicalJson(entry), expires_at }
    })
    await rowsOf(na.core.database).insertInto('crl_entries').values(rows).execute()
  }
}

async function readList(na: TestAuthority, path = '/crl'): Promise<Uint8Array> {
  const answer = await fetch(`${na.url}${path}`)
  expect(answer.status).toBe(200)
  return answer.bytes()
}

it.each(['postgres', 'sqlite'] as const)(
  'a list of 500,000 entries is built, signed and served without a long turn of the event loop: %s',
  async (engine) => {
    const clock = new ManualClock('2026-03-01T12:00:00Z')
    const database = await createTestDatabase(engine)
    const na = await startTestAuthority({ clock, database, settings: { NA_CLOCK_CHECK: 'off' } })
    try {
      const seed = async (name: string, count: number): Promise<string[]> => {
        const { publicKey } = await testSigner('node', name)
        const seeded = await seedCertificates(na.parts, { count, node_public_key: publicKey, validityHours: 5000 })
        return seeded.map(({ cert_id }) => cert_id)
      }
      const [first = ''] = await seed('large-list-key', 1)
      const others = await seed('large-list', 100)
      const revoke = async (cert_ids: readonly string[], reason: string): Promise<void> => {
        accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_ids, reason, all_of_key: false }))
      }
      await readList(na)
      await seedEntries(na, clock)
      await revoke([first], 'unspecified')
      // Builds from all rows, because an entry gets another text.
      expect(await longestTurnMs(() => revoke([first], 'key_compromise'))).toBeLessThanOrEqual(LOOP_MS)
      const before = CompactCrl.read(await readList(na))
      expect(before?.count).toBe(ENTRIES + 1)
      expect(await longestTurnMs(() => revoke(others, 'unspecified'))).toBeLessThanOrEqual(LOOP_MS)
      const bytes = await readList(na)
      const list = CompactCrl.read(bytes)
      expect(list?.count).toBe(ENTRIES + 101)
      expect(await list?.isSignedBy([na.genesis.network_authority.public_key])).toBe(true)
      const delta = await readList(na, `/crl/delta?from=${before?.crl.sequence}`)
      expect(delta.length).toBeLessThan(bytes.length / 100)
      const rebuilt = before?.withDelta(delta)
      expect(Buffer.compare(joinBytes(rebuilt?.pieces ?? []), bytes)).toBe(0)
      expect(Buffer.compare(toUtf8(canonicalJson((list?.crl ?? {}) as unknown as JsonObject)), bytes)).toBe(0)
    } finally {
      await na.stop()
      await database.drop()
    }
  },
  600_000,
)
