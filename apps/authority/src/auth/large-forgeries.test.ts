import { accepted, refused, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

const LARGE = { feed: { ids: Array.from({ length: 20_000 }, (_, n) => `id ${n}`) } }
const SMALL = { feed: {} }
const IMPORT = '/admin/sovereign-revocation-feeds/import'

/** Signed with another key under the id of an operator key. */
async function forge(body: typeof LARGE | typeof SMALL, from: string): Promise<TestResponse> {
  return na.as('privileged')('POST', IMPORT, body, {
    from,
    signer: await testSigner('op-privileged', 'another signer'),
  })
}

describe('forged operator calls with large bodies', () => {
  it('are verified twice, then refused before they are read; small calls and other callers are served', async () => {
    const from = '127.3.0.1'
    refused(await forge(LARGE, from), 401, 'admin_auth_failed')
    refused(await forge(LARGE, from), 401, 'admin_auth_failed')
    refused(await forge(LARGE, from), 429, 'admin_auth_throttled')
    refused(await forge(SMALL, from), 401, 'admin_auth_failed')
    refused(await forge(LARGE, '127.3.0.2'), 401, 'admin_auth_failed')
    accepted(await na.as('privileged')('POST', '/admin/invite', {}, { from }), 201)
    expect((await na.as('privileged')('POST', IMPORT, LARGE, { from: '127.3.0.3' })).status).toBe(400)
  })

  it('that arrive together are refused while they are queued', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => forge(LARGE, '127.3.0.4')))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses.filter((status) => status === 401).length).toBe(2)
    expect(statuses.filter((status) => status === 429).length).toBe(6)
  })
})
