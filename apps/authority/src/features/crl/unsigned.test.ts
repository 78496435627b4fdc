import { ManualClock, accepted, enroll, nodeCaller, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PublishedDocuments } from '../../requests/published-documents.ts'
import { serveList } from './serve-list.ts'
import { EntriesCache } from './entries-cache.ts'
import { ListBuilder } from './list-builder.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

let clock: ManualClock
let na: TestAuthority
beforeEach(async () => {
  clock = new ManualClock()
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterEach(() => na.stop())

const list = (): Promise<TestResponse> => na.request('GET', '/crl')
const sequenceOf = (answer: TestResponse): unknown => accepted(answer)['sequence']
/** The key provider does not respond. */
const loseSigner = () =>
  vi.spyOn(na.core.signing.signer, 'sign').mockRejectedValue(new Error('the token does not respond'))

describe('a list that is due and cannot be signed', () => {
  it('is served until its end, and signed again when the key provider has recovered', async () => {
    const { text } = await list()
    const lost = loseSigner()
    clock.advance(13 * 3600)
    expect((await list()).text).toBe(text)
    accepted(await na.request('GET', '/readyz?for=reads'))
    // Requests do not load the signer: one of them tries again after ten seconds.
    const tries = (): number =>
      lost.mock.calls.filter(([bytes]) => Buffer.from(bytes).includes('"revoked_certificates"')).length
    const before = tries()
    expect(before).toBeGreaterThan(0)
    await list()
    expect(tries()).toBe(before)
    lost.mockRestore()
    clock.advance(10)
    expect(sequenceOf(await list())).toBe(1)
  })

  it('is not served after its end', async () => {
    accepted(await list())
    loseSigner()
    clock.advance(24 * 3600)
    expect((await list()).status).toBeGreaterThanOrEqual(500)
  })

  it('is served by an instance that has not cached it yet', async () => {
    const { text } = await list()
    loseSigner()
    clock.advance(13 * 3600)
    const { bytes } = await serveList(
      {
        ...na.parts,
        entries: new EntriesCache(),
        builder: new ListBuilder(),
        publishedDocuments: new PublishedDocuments(),
      },
      {},
    )
    expect(Buffer.from(bytes).toString()).toBe(text)
  })

  it('is served while stored rows contradict it, and no other is signed', async () => {
    const node = nodeCaller(na.url, await testSigner('node', 'unsigned'), () => clock.now())
    const { cert_id } = await enroll(na, node)
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id }))
    const { text } = await list()
    await rowsOf(na.core.database).deleteFrom('crl_entries').execute()
    // As after a restart: the process has no cached list.
    vi.spyOn(EntriesCache.prototype, 'find').mockReturnValue(undefined)
    clock.advance(13 * 3600)
    expect((await list()).text).toBe(text)
    const { details } = refused(await na.request('GET', '/readyz'), 503, 'service_not_ready')
    expect(details).toMatchObject({ reasons: ['crl_incomplete'] })
  })
})
