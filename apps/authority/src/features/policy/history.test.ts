import type { JsonObject } from '@chancery/protocol'
import { type TestAuthority, accepted, refused, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

interface Page {
  readonly versions: readonly {
    readonly policy_id: string
    readonly active: boolean
    readonly created_at: string
    readonly policy: JsonObject
  }[]
  readonly total?: number | null
  readonly next_offset?: number | null
  readonly next_cursor?: string | null
}

describe('GET /admin/policy/history', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority()
    for (let i = 1; i <= 5; i += 1)
      accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: `p-${i}` }), 201)
    accepted(await na.as('privileged')('POST', '/admin/policy/rollback', { policy_id: 'p-3' }))
  })
  afterAll(() => na.stop())
  const history = async (query = ''): Promise<Page> =>
    accepted(await na.as('standard')('GET', `/admin/policy/history${query}`)) as unknown as Page
  const ids = (page: Page): string[] => page.versions.map((version) => version.policy_id)

  describe('200', () => {
    it('lists every version newest first, with the manifest as it was signed, without paging members', async () => {
      const page = await history()
      expect(ids(page)).toEqual(['p-5', 'p-4', 'p-3', 'p-2', 'p-1'])
      expect(page.versions.filter((version) => version.active).map((version) => version.policy_id)).toEqual(['p-3'])
      for (const version of page.versions) {
        expect(Object.keys(version).sort()).toEqual(['active', 'created_at', 'policy', 'policy_id'])
        expect(version.policy['policy_id']).toBe(version.policy_id)
        expect(version.created_at).toBe(version.policy['issued_at'])
      }
      for (const name of ['total', 'next_offset', 'next_cursor']) expect(page).not.toHaveProperty(name)
    })

    it('pages by limit and offset', async () => {
      const first = await history('?limit=2')
      expect([ids(first), first.total, first.next_offset]).toEqual([['p-5', 'p-4'], 5, 2])
      const middle = await history('?limit=2&offset=2')
      expect([ids(middle), middle.total, middle.next_offset]).toEqual([['p-3', 'p-2'], 5, 4])
      const last = await history('?limit=2&offset=4')
      expect([ids(last), last.total, last.next_offset, last.next_cursor]).toEqual([['p-1'], 5, null, null])
      const exact = await history('?limit=5')
      expect([exact.versions.length, exact.next_offset, exact.next_cursor]).toEqual([5, null, null])
      const beyond = await history('?offset=10000')
      expect([ids(beyond), beyond.total, beyond.next_offset, beyond.next_cursor]).toEqual([[], 5, null, null])
    })

    it('accepts 1 and 1000 as limits, and uses the first of a repeated parameter', async () => {
      expect(ids(await history('?limit=1'))).toEqual(['p-5'])
      expect(ids(await history('?limit=1000'))).toHaveLength(5)
      expect(ids(await history('?limit=1&limit=0'))).toEqual(['p-5'])
    })

    it('returns every version once by cursor, also while others are published', async () => {
      const own = await startTestAuthority()
      const publish = async (policy_id: string): Promise<void> => {
        accepted(await own.as('privileged')('POST', '/admin/policy', { policy_id }), 201)
      }
      for (let i = 1; i <= 5; i += 1) await publish(`p-${i}`)
      const seen: string[] = []
      let cursor: string | null | undefined = ''
      for (let pages = 0; cursor !== null; pages += 1) {
        expect(pages).toBeLessThan(4)
        const query = cursor === '' ? '?limit=2' : `?limit=2&cursor=${encodeURIComponent(String(cursor))}`
        const page = accepted(await own.as('standard')('GET', `/admin/policy/history${query}`)) as unknown as Page
        seen.push(...ids(page))
        cursor = page.next_cursor
        await publish(`late-${pages}`)
      }
      expect(seen).toEqual(['p-5', 'p-4', 'p-3', 'p-2', 'p-1'])
      await own.stop()
    })
  })

  describe('400', () => {
    it.each([
      '?limit=0',
      '?limit=1001',
      '?limit=-1',
      '?limit=+1',
      '?limit=%2B1',
      '?limit=1.0',
      '?limit=1e2',
      '?limit=',
      '?limit=%201',
      '?limit=01',
      '?limit=a',
      '?limit=9999999999',
      '?limit=%D9%A1',
      '?limit',
      '?offset=-1',
      '?offset=10001',
      '?offset=',
      '?offset=a',
      '?offset=0x1',
      '?offset=00',
      '?offset=1.5',
      '?cursor=',
      '?cursor=x',
      '?cursor=cDE%3D',
      '?cursor=cDAx',
      '?cursor=LTE',
      `?cursor=${'A'.repeat(1000)}`,
      '?cursor=cDE&offset=0',
      '?cursor=cDE&limit=0',
      '?cursor=cDk5OTk5OTk5OTk5OTk5OTk5OTk',
    ])('%s is invalid_page', async (query) => {
      refused(await na.as('standard')('GET', `/admin/policy/history${query}`), 400, 'invalid_page')
    })

    it('is refused only after authentication', async () => {
      refused(await na.request('GET', '/admin/policy/history?limit=0'), 401, 'admin_auth_failed')
    })
  })

  describe('401', () => {
    it('is for operators', async () => {
      refused(await na.request('GET', '/admin/policy/history'), 401, 'admin_auth_failed')
    })
  })
})
