import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import { CachedDocument } from '@chancery/service-kit'
import { ManualClock, accepted, refused, startTestAuthority } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import type { Core } from '../core.ts'
import { DatabaseUnavailableError } from '../database/errors.ts'
import type { Versions } from '../database/locks/versions.ts'
import { PublishedDocuments } from './published-documents.ts'

type ServeParts = Pick<Core, 'clock' | 'versions' | 'rollback'>

const postgres = process.env['CHANCERY_TEST_DATABASE'] === 'postgres'

describe('published documents', () => {
  const clock = new ManualClock()
  const documentOf = (text: string): CachedDocument => new CachedDocument(Buffer.from(text), 'no-store')

  function setup(): {
    parts: ServeParts
    versions: Map<string, number>
    away: { error: Error | undefined }
    behind: { past: boolean }
    reads: { count: number }
  } {
    const versions = new Map([['crl', 1]])
    const away: { error: Error | undefined } = { error: undefined }
    const rolledBack = { past: false }
    const reads = { count: 0 }
    const read = (): Promise<Versions> => {
      reads.count += 1
      if (away.error !== undefined) return Promise.reject(away.error)
      return Promise.resolve({ versions } as unknown as Versions)
    }
    const reason = 'state_rollback'
    const rollback = { needsRecheck: false, reason, isHalted: () => rolledBack.past, recheck: () => Promise.resolve() }
    // Only the members that are used here.
    return {
      parts: { clock, versions: { read }, rollback } as unknown as ServeParts,
      versions,
      away,
      behind: rolledBack,
      reads,
    }
  }
  const source = (text: string, validUntil?: Instant) => ({
    load: () =>
      Promise.resolve(
        validUntil === undefined ? { document: documentOf(text) } : { document: documentOf(text), validUntil },
      ),
  })
  const textOf = (document: CachedDocument): string => Buffer.from(document.bytes).toString()

  it('refuses a rolled back database: cached documents are served, nothing is read', async () => {
    const { parts, versions, behind: rolledBack, reads } = setup()
    const material = new PublishedDocuments()
    rolledBack.past = true
    await expect(material.serve(parts, 'crl', source('old'))).rejects.toMatchObject({
      code: 'service_unavailable',
      details: { reason: 'state_rollback' },
    })
    rolledBack.past = false
    await material.serve(parts, 'crl', source('new', clock.now() + 1n))
    rolledBack.past = true
    versions.set('crl', 0)
    expect(textOf(await material.serve(parts, 'crl', source('old')))).toBe('new')
    expect(reads.count).toBe(1)
    clock.advance(1)
    await expect(material.serve(parts, 'crl', source('old'))).rejects.toMatchObject({ code: 'service_unavailable' })
  })

  it('reads the version on every request and the record only when it changed', async () => {
    const { parts, versions, reads } = setup()
    const material = new PublishedDocuments()
    let loads = 0
    const counting = { load: () => source(`v${(loads += 1)}`).load() }
    expect(textOf(await material.serve(parts, 'crl', counting))).toBe('v1')
    expect(textOf(await material.serve(parts, 'crl', counting))).toBe('v1')
    expect([loads, reads.count]).toEqual([1, 2])
    versions.set('crl', 2)
    expect(textOf(await material.serve(parts, 'crl', counting))).toBe('v2')
    expect([loads, reads.count]).toEqual([2, 3])
  })

  it('serves cached documents while the database is unavailable, and the new one when it is back', async () => {
    const { parts, versions, away } = setup()
    const material = new PublishedDocuments()
    await material.serve(parts, 'crl', source('held'))
    away.error = new DatabaseUnavailableError('away')
    versions.set('crl', 2)
    expect(textOf(await material.serve(parts, 'crl', source('new')))).toBe('held')
    away.error = undefined
    expect(textOf(await material.serve(parts, 'crl', source('new')))).toBe('new')
  })

  it('serves cached documents when the database does not respond, and the new one from the next request on', async () => {
    const { parts, versions } = setup()
    const material = new PublishedDocuments(undefined, 20)
    const { promise, resolve } = Promise.withResolvers<{ document: CachedDocument }>()
    await material.serve(parts, 'crl', source('held', clock.now() + 60_000_000n))
    versions.set('crl', 2)
    expect(textOf(await material.serve(parts, 'crl', { load: () => promise }))).toBe('held')
    resolve({ document: documentOf('new') })
    await expect.poll(async () => textOf(await material.serve(parts, 'crl', source('never read')))).toBe('new')
  })

  it('serves the cached document immediately while another read waits for the database', async () => {
    const { parts, versions } = setup()
    const material = new PublishedDocuments(undefined, 20)
    const { promise, resolve } = Promise.withResolvers<{ document: CachedDocument }>()
    let loads = 0
    const silent = {
      load: () => {
        loads += 1
        return promise
      },
    }
    await material.serve(parts, 'crl', source('held', clock.now() + 60_000_000n))
    await material.serve(parts, 'policy', source('policy', clock.now() + 60_000_000n))
    versions.set('crl', 2)
    versions.set('policy', 2)
    await material.serve(parts, 'crl', silent)
    expect(textOf(await material.serve(parts, 'policy', silent))).toBe('policy')
    expect(textOf(await material.serve(parts, 'crl', silent))).toBe('held')
    expect(loads).toBe(1)
    resolve({ document: documentOf('new') })
    await expect.poll(async () => textOf(await material.serve(parts, 'policy', source('next')))).toBe('next')
  })

  it('waits for the database when the cached document is no longer valid', async () => {
    const { parts, versions } = setup()
    const material = new PublishedDocuments(undefined, 1)
    await material.serve(parts, 'crl', source('held', clock.now() + 1n))
    clock.advance(1)
    versions.set('crl', 2)
    const slow = { load: () => sleep(50).then(() => ({ document: documentOf('new') })) }
    expect(textOf(await material.serve(parts, 'crl', slow))).toBe('new')
  })

  it('does not serve it beyond its signed validity', async () => {
    const { parts, away } = setup()
    const material = new PublishedDocuments()
    await material.serve(parts, 'crl', source('held', clock.now() + 60_000_000n))
    away.error = new DatabaseUnavailableError('away')
    clock.advance(59.999)
    expect(textOf(await material.serve(parts, 'crl', source('new')))).toBe('held')
    clock.advance(0.001)
    await expect(material.serve(parts, 'crl', source('new'))).rejects.toThrow(DatabaseUnavailableError)
  })

  it('caches limited documents while there is room, and the first ones stay', async () => {
    const { parts, away } = setup()
    const material = new PublishedDocuments(10)
    const serve = (name: string, text: string): Promise<CachedDocument> =>
      material.serve(parts, 'crl', source(text), { name, isBounded: true })
    for (const [name, text] of [
      ['a', '12345'],
      ['b', '1234'],
      ['c', '12'],
    ] as const)
      expect(textOf(await serve(name, text))).toBe(text)
    // Documents that are always cached do not count.
    await material.serve(parts, 'crl', source('much longer than ten'))
    away.error = new DatabaseUnavailableError('away')
    expect([textOf(await serve('a', 'new')), textOf(await serve('b', 'new'))]).toEqual(['12345', '1234'])
    await expect(serve('c', 'new')).rejects.toThrow(DatabaseUnavailableError)
    expect(textOf(await material.serve(parts, 'crl', source('new')))).toBe('much longer than ten')
  })

  it('drops a document that is no longer published, and frees its room', async () => {
    const { parts, versions, away } = setup()
    const material = new PublishedDocuments(5)
    const place = { name: 'a', isBounded: true } as const
    await material.serve(parts, 'crl', source('12345'), place)
    versions.set('crl', 2)
    const gone = { load: () => Promise.reject(new Refusal('feed_part_not_found')) }
    await expect(material.serve(parts, 'crl', gone, place)).rejects.toMatchObject({ code: 'feed_part_not_found' })
    expect(material.heldTag('a')).toBeUndefined()
    await material.serve(parts, 'crl', source('54321'), { name: 'b', isBounded: true })
    away.error = new DatabaseUnavailableError('away')
    await expect(material.serve(parts, 'crl', source('new'), place)).rejects.toThrow(DatabaseUnavailableError)
    expect(material.has('b', clock.now())).toBe(true)
  })

  it('does not hide a bug with an old document', async () => {
    const { parts, away } = setup()
    const material = new PublishedDocuments()
    await material.serve(parts, 'crl', source('held'))
    away.error = new TypeError('bug')
    await expect(material.serve(parts, 'crl', source('new'))).rejects.toThrow(TypeError)
  })

  it('has nothing to serve without a cached document', async () => {
    const { parts, away } = setup()
    away.error = new DatabaseUnavailableError('away')
    await expect(new PublishedDocuments().serve(parts, 'crl', source('new'))).rejects.toThrow(DatabaseUnavailableError)
  })

  it.runIf(postgres)('of a real authority are served after its database has stopped; decisions are 503', async () => {
    const na = await startTestAuthority()
    const [crl, policy] = [await na.request('GET', '/crl'), await na.request('GET', '/policy')]
    accepted(crl)
    accepted(policy)
    await na.database.drop()
    expect((await na.request('GET', '/crl')).text).toBe(crl.text)
    expect((await na.request('GET', '/policy')).text).toBe(policy.text)
    accepted(await na.request('GET', '/genesis'))
    accepted(await na.request('GET', '/sovereign.json'))
    accepted(await na.request('GET', '/healthz'))
    refused(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'p' }), 503, 'service_unavailable')
    refused(await na.as('standard')('GET', '/admin/policy/history'), 503, 'service_unavailable')
    await na.stop()
  })
})
