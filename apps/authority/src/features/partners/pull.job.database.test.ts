import { ManualClock, accepted, startTestAuthority } from '@chancery/testkit'
import { expect, it, vi } from 'vitest'
import { StubPartner } from './stub-partner.suite.ts'

it('an authority that reads from a silent partner stops at once', async () => {
  const clock = new ManualClock('2026-01-02T03:04:05Z')
  const settings = { NA_CLOCK_CHECK: 'off', NA_PARTNER_ADDRESSES: 'loopback' }
  const na = await startTestAuthority({ clock, settings })
  const stub = await new StubPartner('SILENT', () => clock.now()).listen()
  let isStopped = false
  try {
    const body = { url: stub.url, root_public_key: stub.root.publicKey, allow_http: true, import_feeds: 'on' }
    accepted(await na.as('privileged')('POST', '/admin/partners', body), 201)
    stub.show('/sovereign-revocation-feed', () => undefined)
    clock.advance(86_400)
    await vi.waitFor(() => expect(stub.seen).toContain('/sovereign-revocation-feed'), { timeout: 20_000, interval: 20 })
    const started = performance.now()
    await na.stop()
    isStopped = true
    expect(performance.now() - started).toBeLessThan(5000)
  } finally {
    await stub.stop()
    if (!isStopped) await na.stop()
  }
}, 60_000)
