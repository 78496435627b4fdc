import { type JsonObject, digestOf, readJson, seconds, writeInstant } from '@chancery/protocol'
import { accepted, currentBackend, detailsOf, foreignSovereign, refused, wireText } from '@chancery/testkit'
import type { ForeignObject } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import { openPartnerCalls, requestOf } from './partner-calls.suite.ts'
import type { StubPartner } from './stub-partner.suite.ts'

const FEED = '/sovereign-revocation-feed'
const calls = openPartnerCalls()
const { clock } = calls

const areRevoked = (stub: StubPartner, ...ids: readonly string[]): Promise<readonly boolean[]> =>
  Promise.all(ids.map((id) => calls.isRevoked(stub, id)))
const act = (stub: StubPartner, name: string, body: JsonObject = {}) =>
  calls.admin('POST', `/${stub.name}/${name}`, { reason: 'a test', ...body })

/** The imports of a sovereign in the audit, oldest first. */
async function importsOf(stub: StubPartner): Promise<readonly JsonObject[]> {
  const events = await calls.na.auditEvents('sovereign_revocation_feed_imported')
  return events.map(detailsOf).filter((details) => details['issuer_sovereign_id'] === stub.name)
}

/** One part with all ids, and its index. */
function showParts(stub: StubPartner, sequence: number, ids: readonly string[]): void {
  const part = {
    issuer_sovereign_id: stub.name,
    part: 0,
    part_bits: 0,
    revoked_attestation_ids: ids.toSorted(),
    revocation_reasons: {},
  }
  const digest = digestOf(part)
  stub.show(`${FEED}/parts/0`, part)
  stub.show(
    `${FEED}/index`,
    stub.key.sign({
      index_id: `index-${sequence}`,
      issuer_sovereign_id: stub.name,
      issued_by: stub.key.key_id,
      sequence,
      issued_at: writeInstant(clock.now()),
      total_ids: ids.length,
      part_bits: 0,
      parts: [{ part: 0, count: ids.length, digest }],
    }),
  )
}

const manyIds = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `id-${String(i).padStart(6, '0')}`)

/** Answers with a document after something happened during the pull. */
const after =
  (happening: () => Promise<unknown>, document: ForeignObject) =>
  (_request: unknown, response: { end(text: string): void }): void =>
    void happening().then(() => response.end(wireText(document)))

describe('a feed in parts', () => {
  it('is not imported from an index whose sequence is far above', async () => {
    const stub = await calls.newPartner()
    const ids = manyIds(50_000)
    stub.show(FEED, stub.feed(3, ids))
    showParts(stub, 3, [...ids, 'older'])
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'ok',
      partner: { feed: { sequence: 3, imported_sequence: 3, complete: true } },
    })
    expect(await areRevoked(stub, 'id-000000', 'id-049999', 'older', 'never')).toEqual([true, true, true, false])
    showParts(stub, Number.MAX_SAFE_INTEGER, [...ids, 'older'])
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'malformed',
      partner: {
        feed: { imported_sequence: 3, complete: false },
        alarms: [{ kind: 'sequence_jump', material: 'feed', sequence: Number.MAX_SAFE_INTEGER }],
      },
    })
    stub.show(FEED, stub.feed(4, ['later']))
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'ok', partner: { feed: { imported_sequence: 4 } } })
    expect(await calls.isRevoked(stub, 'later')).toBe(true)
  }, 120_000)
})

describe('a feed that is not above the imported sequence', () => {
  it('is imported after the partner was pinned again, and the imported sequence stays', async () => {
    const stub = await calls.newPartner()
    stub.show(FEED, stub.feed(9, ['a']))
    await calls.pull(stub)
    const root = foreignSovereign(stub.name, `${stub.name}-second-root`)
    stub.show('/genesis', stub.genesis(root))
    stub.show('/sovereign.json', {
      sovereign_id: stub.name,
      root_public_key: root.publicKey,
      network_authority: { public_key: stub.key.publicKey },
    })
    accepted(await act(stub, 'repin', { root_public_key: root.publicKey }))
    stub.show(FEED, stub.feed(5, ['b']))
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'ok',
      partner: { feed: { sequence: 5, imported_sequence: 9, complete: true } },
    })
    expect(await areRevoked(stub, 'a', 'b')).toEqual([true, true])
    await calls.pull(stub)
    expect((await importsOf(stub)).map(({ sequence, partner }) => [sequence, partner])).toEqual(
      expect.arrayContaining([
        [9, true],
        [5, true],
      ]),
    )
    expect(await importsOf(stub), 'a second pull imports nothing').toHaveLength(2)
  })

  it('is imported after an alarm was cleared', async () => {
    const stub = await calls.newPartner()
    stub.show(FEED, stub.feed(9, ['a']))
    await calls.pull(stub)
    stub.show(FEED, stub.feed(8, ['b']))
    await calls.pull(stub)
    const { partner } = (await calls.pull(stub)) as { partner: { alarms: { alarm_id: string }[] } }
    expect(await areRevoked(stub, 'a', 'b')).toEqual([true, false])
    accepted(await act(stub, 'clear-alarm', { alarm_id: partner.alarms[0]?.alarm_id ?? '' }))
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'ok',
      partner: { state: 'fresh', feed: { sequence: 8, imported_sequence: 9, complete: true } },
    })
    expect(await areRevoked(stub, 'a', 'b')).toEqual([true, true])
  })

  it('is imported when an operator imported another content of this sequence', async () => {
    const stub = await calls.newPartner()
    const body = {
      feed: readJson(wireText(stub.feed(3, ['by-hand']))),
      issuer_public_keys: [stub.key.publicKey],
    }
    accepted(await calls.na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', body))
    stub.show(FEED, stub.feed(3, ['pulled']))
    expect(await calls.pull(stub)).toMatchObject({ partner: { feed: { imported_sequence: 3, complete: true } } })
    expect(await areRevoked(stub, 'by-hand', 'pulled')).toEqual([true, true])
    accepted(await act(stub, 'remove'))
    accepted(await calls.admin('POST', '', requestOf(stub)), 201)
    stub.show(FEED, stub.feed(3, ['after-removal']))
    await calls.pull(stub)
    expect(await areRevoked(stub, 'by-hand', 'pulled', 'after-removal')).toEqual([true, true, true])
  })

  it('is as recent as its newest date', async () => {
    const stub = await calls.newPartner()
    const date = async (): Promise<string | null | undefined> =>
      (await calls.na.features.revocationFeeds.issuerStates.read(stub.name, 'a')).feed?.issued_at
    const dates = [0, 20, 10].map((more) => writeInstant(clock.now() + seconds(more)))
    const seen: unknown[] = []
    for (const issued_at of dates) {
      stub.show(FEED, stub.feed(5, ['a'], { issued_at }))
      await calls.pull(stub)
      seen.push(await date())
    }
    expect(seen).toEqual([dates[0], dates[1], dates[1]])
  })
})

describe('a pull that an operator ends', () => {
  it.each(['remove', 'off', 'repin'])('imports nothing more (%s)', async (change) => {
    const stub = await calls.newPartner()
    const root = foreignSovereign(stub.name, `${stub.name}-second-root`)
    const changes: Readonly<Record<string, () => Promise<unknown>>> = {
      remove: async () => accepted(await act(stub, 'remove')),
      off: async () => accepted(await calls.admin('POST', `/${stub.name}`, { import_feeds: 'off' })),
      repin: async () => {
        stub.show('/genesis', stub.genesis(root))
        stub.show('/sovereign.json', {
          sovereign_id: stub.name,
          root_public_key: root.publicKey,
          network_authority: { public_key: stub.key.publicKey },
        })
        return accepted(await act(stub, 'repin', { root_public_key: root.publicKey }))
      },
    }
    stub.show(FEED, after(changes[change] ?? (() => Promise.reject(new Error(change))), stub.feed(4, ['too-late'])))
    clock.advance(11)
    refused(await calls.admin('POST', `/${stub.name}/pull`), 409, 'pull_in_progress')
    expect(await calls.isRevoked(stub, 'too-late')).toBe(false)
  })
})

describe('the maximum number of imported ids', () => {
  const setIds = (issuer_sovereign_id: string, ids: number) =>
    rowsOf(calls.na.core.database)
      .insertInto('imported_issuers')
      .values({ issuer_sovereign_id, ids })
      .onConflict((conflict) => conflict.column('issuer_sovereign_id').doUpdateSet({ ids }))
      .execute()

  it('refuses new ids of an issuer, and nothing else', async () => {
    const stub = await calls.newPartner()
    stub.show(FEED, stub.feed(1, ['a']))
    await calls.pull(stub)
    await setIds(stub.name, 2_000_000)
    stub.show(FEED, stub.feed(2, ['a']))
    expect(await calls.pull(stub), 'the same ids').toMatchObject({ partner: { feed: { imported_sequence: 2 } } })
    stub.show(FEED, stub.feed(3, ['a', 'b']))
    stub.show('/crl', stub.crl(7, []))
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'store_failed',
      partner: { feed: { imported_sequence: 2 }, crl: { sequence: 7 }, alarms: [{ kind: 'import_capacity' }] },
    })
    expect(await calls.isRevoked(stub, 'b')).toBe(false)
    await setIds(stub.name, 1)
  })

  it('is not used up for small issuers by five large ones', async () => {
    const large = [1, 2, 3, 4, 5].map((number) => `LARGE-${number}`)
    for (const name of large) await setIds(name, 2_000_000)
    const stub = await calls.newPartner()
    stub.show(FEED, stub.feed(1, ['a']))
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'ok' })
    expect(await calls.isRevoked(stub, 'a')).toBe(true)
    await setIds(stub.name, 10_000)
    stub.show(FEED, stub.feed(2, ['a', 'b']))
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'store_failed' })
    for (const name of large) await setIds(name, 0)
    expect(await calls.pull(stub)).toMatchObject({ partner: { feed: { imported_sequence: 2 } } })
  })

  // SQLite has one connection, so nothing waits for a lock there.
  it.runIf(currentBackend() === 'postgres')(
    'fails one step only when another import takes long',
    async () => {
      const stub = await calls.newPartner()
      stub.show(FEED, stub.feed(1, ['a']))
      stub.show('/crl', stub.crl(7, []))
      let end = (): void => undefined
      const isEnding = new Promise<void>((resolve) => {
        end = resolve
      })
      const other = calls.na.core.database.write(async (tx) => {
        await tx.lock('imports')
        await isEnding
      })
      expect(await calls.pull(stub)).toMatchObject({ outcome: 'store_failed', partner: { crl: { sequence: 7 } } })
      end()
      await other
      expect(await calls.pull(stub)).toMatchObject({ outcome: 'ok', partner: { feed: { imported_sequence: 1 } } })
    },
    30_000,
  )
})

describe('a feed that is too large', () => {
  const listOf = (count: number): string => JSON.stringify(manyIds(count))
  const reasonsOf = (count: number): string => JSON.stringify(Object.fromEntries(manyIds(count).map((id) => [id, 'x'])))
  it.each([
    ['ids', listOf(200_001), '{}'],
    ['reasons', '["a"]', reasonsOf(200_001)],
  ])('has the outcome too_large and the reason feed_incomplete (%s)', async (_name, ids, reasons) => {
    const stub = await calls.newPartner()
    const text = `{"revoked_attestation_ids":${ids},"revocation_reasons":${reasons}}`
    stub.show(FEED, (_request, response) => void response.end(text))
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'too_large',
      partner: { feed: null, reasons: expect.arrayContaining(['feed_incomplete']) },
    })
    stub.show(FEED, stub.feed(1, ['a']))
    expect(await calls.pull(stub)).toMatchObject({
      outcome: 'ok',
      partner: { reasons: expect.not.arrayContaining(['feed_incomplete']) },
    })
  })
})
