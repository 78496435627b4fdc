import { type Crl, type JsonObject, type JsonValue, readJson } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  enroll,
  entryOf,
  eventsOf,
  fetchCrl,
  nodeCaller,
  seedCertificates,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

let counter = 0
async function seed(count: number): Promise<string[]> {
  counter += 1
  const { publicKey } = await testSigner('node', `many-${counter}`)
  const seeded = await seedCertificates(na.parts, { count, node_public_key: publicKey })
  return seeded.map(({ cert_id }) => cert_id)
}

const revoke = (body: JsonObject): Promise<TestResponse> => na.as('privileged')('POST', '/admin/revoke', body)
const list = (): Promise<Crl> => fetchCrl(na.url, na.genesis.network_authority.public_key)

describe('POST /admin/revoke with cert_ids', () => {
  describe('200', () => {
    it('revokes a thousand in one version, each with its event', async () => {
      const cert_ids = await seed(1000)
      const before = await list()
      const answer = await revoke({ cert_ids, reason: 'cessation_of_operation' })
      const crl = await list()
      expect(accepted(answer)).toEqual({
        crl_sequence: before.sequence + 1,
        revoked_count: before.revoked_certificates.length + 1000,
      })
      const listed = crl.revoked_certificates.slice(before.revoked_certificates.length)
      expect(listed.map((entry) => entry.certificate_id).sort()).toEqual([...cert_ids].sort())
      const events = (await eventsOf(na, answer)).map(detailsOf)
      expect(events.map((details) => details['cert_id']).sort()).toEqual([...cert_ids].sort())
      for (const details of events) expect(details['crl_sequence']).toBe(crl.sequence)
    })

    it('shares no version with others beyond a thousand: each locks the keys of all its certificates', async () => {
      const lists = [await seed(600), await seed(600), await seed(400)]
      const request = {
        reason: 'unspecified',
        onlyThis: true,
        form: 'cert_ids',
        missing: [],
        attempt: undefined,
        cause: {},
      } as const
      // In one loop turn, so that they queue together.
      const texts = await Promise.all(lists.map((cert_ids) => na.features.crl.revoke({ ...request, cert_ids })))
      const [first, second, third] = texts.map(({ text }) => (readJson(text) as JsonObject)['crl_sequence'])
      expect(second).toBe(Number(first) + 1)
      expect(third).toBe(second)
    })

    it('accepts a list of one', async () => {
      const cert_ids = await seed(1)
      accepted(await revoke({ cert_ids }))
      expect(entryOf(await list(), cert_ids[0] ?? '')).toMatchObject({ reason: 'unspecified' })
    })

    it('adds only certificates that are not revoked yet', async () => {
      const [first = '', second = ''] = await seed(2)
      const before = accepted(await revoke({ cert_id: first, reason: 'superseded', only_this: true }))
      const answer = await revoke({ cert_ids: [first, second] })
      expect(accepted(answer)).toMatchObject({
        crl_sequence: Number(before['crl_sequence']) + 1,
        revoked_count: Number(before['revoked_count']) + 1,
      })
      expect(entryOf(await list(), first)?.reason).toBe('superseded')
      expect((await eventsOf(na, answer)).map((event) => detailsOf(event)['cert_id'])).toEqual([second])
    })

    it('publishes nothing when all are revoked already', async () => {
      const cert_ids = await seed(3)
      const first = accepted(await revoke({ cert_ids }))
      expect(accepted(await revoke({ cert_ids }))).toEqual(first)
      expect((await list()).sequence).toBe(first['crl_sequence'])
    })

    it('revokes whole keys for key_compromise, those of all named certificates', async () => {
      const [first, second] = [await seed(2), await seed(2)]
      accepted(await revoke({ cert_ids: [first[0] ?? '', second[0] ?? ''], reason: 'key_compromise' }))
      const crl = await list()
      for (const cert_id of [...first, ...second]) expect(entryOf(crl, cert_id)?.reason).toBe('key_compromise')
    })
  })

  describe('400', () => {
    it.each<[string, JsonValue]>([
      ['an empty list', []],
      ['no list', 'x'],
      ['null', null],
      ['a repeated id', ['a', 'b', 'a']],
      ['an empty id', ['a', '']],
      ['an id that is not a string', ['a', 7]],
      ['1001 ids', Array.from({ length: 1001 }, (_, index) => `id-${index}`)],
    ])('refuses %s', async (_, cert_ids) => {
      const before = await list()
      refused(await revoke({ cert_ids }), 400, 'missing_cert_id')
      expect(await list()).toEqual(before)
    })

    it('refuses both forms at once', async () => {
      const [cert_id = ''] = await seed(1)
      refused(await revoke({ cert_id, cert_ids: [cert_id] }), 400, 'missing_cert_id')
      expect(entryOf(await list(), cert_id)).toBeUndefined()
    })
  })

  describe('404', () => {
    it('names unknown ids and changes nothing', async () => {
      const cert_ids = await seed(3)
      const before = await list()
      const answer = await revoke({ cert_ids: ['unknown-1', ...cert_ids, 'unknown-2'] })
      const error = refused(answer, 404, 'certificate_not_found')
      expect(error['details']).toEqual({ cert_ids: ['unknown-1', 'unknown-2'] })
      expect(await list()).toEqual(before)
      expect(await eventsOf(na, answer)).toEqual([])
      const db = na.core.database.read
      const rows = await db.selectFrom('issued_certs').select('status').where('cert_id', 'in', cert_ids).execute()
      expect(rows.map((row) => row.status)).toEqual(['issued', 'issued', 'issued'])
    })

    it('refuses one request without delaying the others', async () => {
      const ids = await seed(20)
      const answers = await Promise.all([
        ...ids.map((cert_id) => revoke({ cert_id })),
        revoke({ cert_id: 'unknown' }),
        revoke({ cert_ids: [(await seed(1))[0] ?? '', 'unknown'] }),
      ])
      for (const answer of answers.slice(0, 20)) accepted(answer)
      for (const answer of answers.slice(20)) refused(answer, 404, 'certificate_not_found')
      const crl = await list()
      for (const cert_id of ids) expect(entryOf(crl, cert_id)).toBeDefined()
    })
  })

  it('serves concurrent callers with few versions, without a gap', async () => {
    const ids = await seed(50)
    const before = await list()
    const answers = await Promise.all(ids.map((cert_id) => revoke({ cert_id })))
    const crl = await list()
    const sequences = answers.map((answer) => Number(accepted(answer)['crl_sequence']))
    expect(Math.max(...sequences)).toBe(crl.sequence)
    const db = na.core.database.read
    const rows = await db.selectFrom('crl_versions').select(['sequence', 'entries']).orderBy('sequence').execute()
    const first = rows[0]?.sequence ?? 0
    expect(rows.map((row) => row.sequence)).toEqual(rows.map((_, index) => first + index))
    // At most one version per batch, and 50 concurrent callers are fewer than 50 batches.
    expect(crl.sequence - before.sequence).toBeLessThan(25)
    expect(new Set(sequences).size).toBe(crl.sequence - before.sequence)
    // Each caller gets the count of the version that has its certificate.
    for (const answer of answers) {
      const { crl_sequence, revoked_count } = accepted(answer)
      expect(rows.find((row) => row.sequence === crl_sequence)?.entries).toBe(revoked_count)
    }
  })

  it('keeps the order of addition over many versions', async () => {
    const node = nodeCaller(na.url, await testSigner('node', 'many-order'), () => clock.now())
    const order: string[] = []
    for (let index = 0; index < 5; index += 1) {
      const { cert_id } = await enroll(na, node)
      accepted(await revoke({ cert_id }))
      order.push(cert_id)
    }
    const listed = (await list()).revoked_certificates.map((entry) => entry.certificate_id)
    expect(listed.slice(-5)).toEqual(order)
  })
})
