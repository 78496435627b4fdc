import { HOUR, MINUTE, type RevocationList } from '@chancery/protocol'
import {
  ManualClock,
  startTestGateway,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { TestIssuer } from '@chancery/testkit'
import { expect, it } from 'vitest'

it('ready with a warning while the list of a partner or of an additional issuer is not usable', async () => {
  const time = new ManualClock('2026-03-02T12:00:00Z')
  const [home, next, partner] = [
    await testIssuer('home'),
    await testIssuer('home', 'na-2'),
    await testIssuer('partner'),
  ]
  const [who, watcher] = [testClient('who', ['home', 'partner']), testClient('watcher', [], { metrics: true })]
  const short = (by: TestIssuer): Promise<RevocationList> => testList(by, time.now(), { issuedAgo: 0n, lasts: MINUTE })
  const networks = {
    partner: testNetwork(partner, await short(partner)),
    home: testNetwork(home, await testList(home, time.now(), { lasts: 10n * HOUR }), {
      additional_issuers: { 'na-2': testNetwork(next, await short(next)) },
    }),
  }
  const policy = { ...testPolicy(networks, [who, watcher]), home_network: 'home' }
  const gateway = await startTestGateway({ policy, clock: time })
  try {
    time.advance(60)
    const response = await gateway.request('GET', '/ready')
    expect([response.status, response.body]).toEqual([200, { status: 'ready', warnings: ['list_stale'] }])
    const { text } = await gateway.request('GET', '/metrics', { token: watcher.token })
    for (const row of ['{network="home"} 1', '{network="partner"} 0'])
      expect(text).toContain(`gateway_network_ready${row}\n`)
    const { body } = await gateway.request('GET', '/v1/networks', { token: who.token })
    expect(body['networks']).toMatchObject([
      { name: 'home', ready: true, additional_issuers: [{ ready: false }] },
      { name: 'partner', ready: false },
    ])
  } finally {
    await gateway.stop()
  }
})
