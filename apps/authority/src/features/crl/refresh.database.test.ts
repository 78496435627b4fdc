// oxlint-disable max-lines -- one job through the life of a list
import { type Crl, canonicalJson, hours, readInstant, seconds, writeInstant } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  enroll,
  entryOf,
  fetchCrl,
  newNodeCaller,
  refused,
  seedCertificates,
  startTestAuthority,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { refreshList } from './serve-list.ts'
import { EntriesCache } from './entries-cache.ts'
import { ListBuilder } from './list-builder.ts'

let clock: ManualClock
let na: TestAuthority
beforeEach(async () => {
  clock = new ManualClock()
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterEach(() => na.stop())

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'upkeep', clock)
const list = (): Promise<Crl> => fetchCrl(na.url, na.genesis.network_authority.public_key)
const revoke = async (cert_id: string): Promise<void> => {
  accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
}
const seedOne = async (validityHours: number): Promise<string> => {
  const { key } = await newNode()
  const [seeded] = await seedCertificates(na.parts, { count: 1, node_public_key: key, validityHours })
  return seeded?.cert_id ?? ''
}
const causeOf = async (sequence: number): Promise<unknown> =>
  (await na.auditEvents('crl_published')).map(detailsOf).find((details) => details['sequence'] === sequence)?.['cause']
const renewed = async (node: NodeCaller, cert_id: string): Promise<string> =>
  String(accepted(await node.renew(cert_id), 201)['cert_id'])

describe('the first list', () => {
  it('is empty, has sequence 0, is signed and valid for a day', async () => {
    const crl = await list()
    expect(crl).toMatchObject({
      sequence: 0,
      issuer: 'na-test',
      revoked_certificates: [],
      issued_at: writeInstant(clock.now()),
      next_update: writeInstant(clock.now() + hours(24)),
      signatures: [{ key_id: 'na-test' }],
    })
    expect(await list()).toEqual(crl)
  })

  it('is made once for many concurrent readers', async () => {
    const lists = await Promise.all(Array.from({ length: 20 }, () => list()))
    expect(new Set(lists.map(canonicalJson)).size).toBe(1)
  })
})

describe('superseded certificates', () => {
  it('enter the list when the grace time is over and more than a day of their validity remains', async () => {
    const node = await newNode()
    const { cert_id } = await enroll(na, node)
    const successor = await renewed(node, cert_id)
    const before = await list()
    clock.set(clock.now() + seconds(900) - 1n)
    expect(await list()).toEqual(before)
    clock.set(clock.now() + 1n)
    const crl = await list()
    expect(crl.sequence).toBe(before.sequence + 1)
    expect(crl.revoked_certificates).toEqual([
      { certificate_id: cert_id, revoked_at: writeInstant(clock.now()), reason: 'superseded', issuer: 'na-test' },
    ])
    expect(await causeOf(crl.sequence)).toBe('superseded')
    const events = (await na.auditEvents('certificate_revoked')).map(detailsOf)
    expect(events).toMatchObject([{ cert_id, reason: 'superseded', crl_sequence: crl.sequence }])
    // After it is listed it is revoked. The successor still works.
    refused(await node.heartbeat(cert_id), 403, 'certificate_revoked')
    accepted(await node.heartbeat(successor))
    expect(await list()).toEqual(crl)
  })

  it.each([
    ['a second more than a day', 2699, true],
    ['exactly a day', 2700, false],
    ['less than a day', 2800, false],
  ])('with %s left then are listed: %d s of 25 h gone at renewal, %s', async (_, age, isListed) => {
    const node = await newNode()
    const { cert_id } = await enroll(na, node, { max_validity_hours: 25 })
    const before = await list()
    clock.advance(age)
    await renewed(node, cert_id)
    clock.advance(900)
    const crl = await list()
    expect(entryOf(crl, cert_id) !== undefined).toBe(isListed)
    expect(crl.sequence).toBe(before.sequence + (isListed ? 1 : 0))
    refused(await node.heartbeat(cert_id), 403, isListed ? 'certificate_revoked' : 'certificate_superseded')
  })

  it('that matured together share one version, in the order they matured', async () => {
    const [first, second, third] = [await newNode(), await newNode(), await newNode()]
    const ids: string[] = []
    for (const node of [third, first, second]) {
      const { cert_id } = await enroll(na, node)
      await renewed(node, cert_id)
      ids.push(cert_id)
      clock.advance(1)
    }
    const before = await list()
    clock.advance(900)
    const crl = await list()
    expect(crl.sequence).toBe(before.sequence + 1)
    expect(crl.revoked_certificates.map((entry) => entry.certificate_id)).toEqual(ids)
  })

  it('are added together with a revocation', async () => {
    const node = await newNode()
    const [old, gone] = [await enroll(na, node), await seedOne(168)]
    await renewed(node, old.cert_id)
    const before = await list()
    clock.advance(900)
    await revoke(gone)
    const crl = await list()
    expect(crl.sequence).toBe(before.sequence + 1)
    expect(entryOf(crl, gone)?.reason).toBe('unspecified')
    expect(entryOf(crl, old.cert_id)?.reason).toBe('superseded')
    const events = (await na.auditEvents('certificate_revoked')).map((event) => detailsOf(event)['cert_id'])
    expect(events.sort()).toEqual([gone, old.cert_id].sort())
  })

  it('wait until a minute after the last version, and are refused by the authority in the meantime', async () => {
    const [early, late] = [await newNode(), await newNode()]
    const [first, second] = [await enroll(na, early), await enroll(na, late)]
    await list()
    await renewed(early, first.cert_id)
    clock.advance(20)
    await renewed(late, second.cert_id)
    clock.advance(880)
    const before = await list()
    expect(before.revoked_certificates.map((entry) => entry.certificate_id)).toEqual([first.cert_id])
    clock.advance(59)
    expect(await list()).toEqual(before)
    await refreshList({ ...na.parts, entries: new EntriesCache(), builder: new ListBuilder() })
    expect(await list()).toEqual(before)
    refused(await late.heartbeat(second.cert_id), 403, 'certificate_superseded')
    clock.advance(1)
    const crl = await list()
    expect(crl.sequence).toBe(before.sequence + 1)
    expect(entryOf(crl, second.cert_id)?.reason).toBe('superseded')
    refused(await late.heartbeat(second.cert_id), 403, 'certificate_revoked')
  })

  it('that wait are added with a revocation, which does not wait', async () => {
    const [node, lost] = [await newNode(), await newNode()]
    const [{ cert_id }, compromised] = [await enroll(na, node), await enroll(na, lost)]
    await renewed(node, cert_id)
    clock.advance(899)
    await revoke(await seedOne(168))
    const before = await list()
    clock.advance(1)
    expect(await list()).toEqual(before)
    const body = { cert_id: compromised.cert_id, reason: 'key_compromise' }
    accepted(await na.as('privileged')('POST', '/admin/revoke', body))
    const crl = await list()
    expect(crl.sequence).toBe(before.sequence + 1)
    expect([cert_id, compromised.cert_id].map((id) => entryOf(crl, id)?.reason)).toEqual([
      'superseded',
      'key_compromise',
    ])
  })

  it('of many renewals in a row cause at most one version a minute', async () => {
    const { sequence } = await list()
    for (let count = 0; count < 20; count += 1) {
      const node = await newNode()
      await renewed(node, (await enroll(na, node)).cert_id)
      clock.advance(10)
      await list()
    }
    clock.advance(900 - 200)
    for (let count = 0; count < 20; count += 1) {
      await list()
      clock.advance(10)
    }
    clock.advance(60)
    const crl = await list()
    expect(crl.revoked_certificates).toHaveLength(20)
    // They matured over 200 seconds: at the start, after each of three minutes, and the rest.
    expect(crl.sequence - sequence).toBeLessThanOrEqual(5)
  })

  it('that are revoked within the grace time keep that reason', async () => {
    const node = await newNode()
    const { cert_id } = await enroll(na, node)
    await renewed(node, cert_id)
    await revoke(cert_id)
    const before = await list()
    clock.advance(900)
    expect(await list()).toEqual(before)
    expect(entryOf(before, cert_id)?.reason).toBe('unspecified')
  })

  it('are listed by the job without a reader', async () => {
    const node = await newNode()
    const { cert_id } = await enroll(na, node)
    await renewed(node, cert_id)
    await list()
    clock.advance(900)
    await refreshList({ ...na.parts, entries: new EntriesCache(), builder: new ListBuilder() })
    const row = await na.core.database.read
      .selectFrom('crl_versions')
      .select('crl_json')
      .orderBy('sequence', 'desc')
      .executeTakeFirst()
    expect(row?.crl_json).toContain(cert_id)
  })
})

describe('refresh', () => {
  it('signs the same entries again when 12 h remain, and not before', async () => {
    const gone = await seedOne(1000)
    await revoke(gone)
    const before = await list()
    clock.set((readInstant(before.issued_at) ?? 0n) + hours(12) - 1n)
    expect(await list()).toEqual(before)
    clock.set(clock.now() + 1n)
    const crl = await list()
    expect(crl).toMatchObject({
      sequence: before.sequence + 1,
      issued_at: writeInstant(clock.now()),
      next_update: writeInstant(clock.now() + hours(24)),
      revoked_certificates: before.revoked_certificates,
    })
    expect(await causeOf(crl.sequence)).toBe('refresh')
    expect(await list()).toEqual(crl)
  })

  it('happens once for many concurrent readers', async () => {
    const before = await list()
    clock.advance(12 * 3600)
    const lists = await Promise.all(Array.from({ length: 20 }, () => list()))
    expect(new Set(lists.map((crl) => crl.sequence))).toEqual(new Set([before.sequence + 1]))
  })

  it('publishes one version after a long pause', async () => {
    const before = await list()
    clock.advance(10 * 86_400)
    const crl = await list()
    expect(crl.sequence).toBe(before.sequence + 1)
    expect(crl.issued_at).toBe(writeInstant(clock.now()))
  })
})

describe('pruning', () => {
  it('leaves out an entry an hour after its certificate expired, when a version is built', async () => {
    const [short, long, other] = [await seedOne(2), await seedOne(1000), await seedOne(1000)]
    for (const cert_id of [short, long]) await revoke(cert_id)
    clock.advance(3 * 3600)
    await revoke(other)
    // Expired exactly an hour ago: still listed.
    expect(entryOf(await list(), short)).toBeDefined()
    clock.set(clock.now() + 1n)
    const stored = await list()
    expect(entryOf(stored, short)).toBeDefined()
    await revoke(await seedOne(1000))
    const crl = await list()
    expect(entryOf(crl, short)).toBeUndefined()
    for (const cert_id of [long, other]) expect(entryOf(crl, cert_id)).toEqual(entryOf(stored, cert_id))
    // The certificate stays revoked.
    const answer = accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: short }))
    expect(answer).toEqual({ crl_sequence: crl.sequence, revoked_count: crl.revoked_certificates.length })
  })
})

describe('a clock that is set back', () => {
  it('never dates a list before its predecessor', async () => {
    await revoke(await seedOne(1000))
    const before = await list()
    clock.set(clock.now() - seconds(120))
    await revoke(await seedOne(1000))
    const crl = await list()
    expect(crl.sequence).toBe(before.sequence + 1)
    expect(crl.issued_at).toBe(before.issued_at)
    expect(crl.next_update).toBe(before.next_update)
    // Time continues from there.
    clock.advance(121)
    await revoke(await seedOne(1000))
    expect((await list()).issued_at).toBe(writeInstant(clock.now()))
  })

  it('lists pruned entries again after the clock was ahead, and prunes by the current clock', async () => {
    const [short, long] = [await seedOne(1), await seedOne(1000)]
    await revoke(short)
    await revoke(long)
    const right = clock.now()
    clock.set(right + hours(2000))
    expect((await list()).revoked_certificates).toEqual([])
    clock.set(right + seconds(60))
    const fresh = await seedOne(1)
    await revoke(fresh)
    const crl = await list()
    expect([short, long, fresh].map((id) => entryOf(crl, id)?.revoked_at)).toEqual([
      writeInstant(right),
      writeInstant(right),
      writeInstant(clock.now()),
    ])
    clock.advance(7201)
    await revoke(await seedOne(1000))
    const later = await list()
    expect([short, long, fresh].map((id) => entryOf(later, id) !== undefined)).toEqual([false, true, false])
  })
})
