import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ManualClock, type TestAuthority, accepted, createInvite, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import { RefusedError } from '../errors.ts'
import { authenticate } from '../nodejs/node-http.ts'
import { createAuthorizer } from '../request-proof/authorizer.ts'
import { wimse } from '../request-proof/wimse.ts'
import { FollowedParty } from '../trust/followed-party.ts'
import { type StartedNode, startNode } from '../testing/started-node.suite.ts'
import { MemoryNodeStore } from './followed.ts'

const AUDIENCE = 'https://print.example.org'
const DOMAIN = 'agency.example.org'
const clock = new ManualClock('2026-03-01T00:00:00Z')
let na: TestAuthority
let off: TestAuthority
let node: StartedNode
let party: FollowedParty
let service: Server
let url: string
let asked = 0
beforeAll(async () => {
  na = await startTestAuthority({ clock, backend: 'sqlite', settings: { NA_WIMSE_TRUST_DOMAIN: DOMAIN } })
  off = await startTestAuthority({ clock, backend: 'sqlite' })
  node = await join(na)
  party = await FollowedParty.open({
    client: createAuthorityClient({ url: na.url, clock: () => clock.now() }),
    genesis: na.genesis,
    clock: () => clock.now(),
  })
  const authorizer = createAuthorizer({
    audience: AUDIENCE,
    trust: party,
    clock: () => clock.now(),
    profiles: [wimse({ networks: [{ genesis: na.genesis, trustDomain: DOMAIN }] })],
  })
  service = createServer(
    authenticate(authorizer, (_request, response, { caller }) => response.end(caller.certificate.cert_id)),
  )
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/print`
})
afterAll(async () => {
  await node.stop()
  await new Promise((resolve) => service.close(resolve))
  await na.stop()
  await off.stop()
})

function join(authority: TestAuthority): Promise<StartedNode> {
  return startNode({
    url: authority.url,
    genesis: authority.genesis,
    store: new MemoryNodeStore(),
    invite: () => createInvite(authority, {}),
    clock: () => clock.now(),
    fetch: (address: string, init: RequestInit) => {
      if (address.endsWith('/wit')) asked += 1
      return fetch(address, init)
    },
  })
}

describe('fetchWith the profile of WIMSE', () => {
  it('is accepted by a service, with one token for many requests', async () => {
    const call = node.fetchWith({ audience: AUDIENCE, profile: wimse() })
    const answers = await Promise.all(
      [1, 2, 3].map(async () => (await call(url, { method: 'POST', body: 'x' })).text()),
    )
    expect(answers).toEqual([1, 2, 3].map(() => node.certificate.cert_id))
    expect(await (await call(url)).text()).toBe(node.certificate.cert_id)
    expect(asked).toBe(1)
  })

  it('fetches the next token before the first ends', async () => {
    const before = asked
    clock.advance(3400)
    await party.refresh()
    expect((await node.fetchWith({ audience: AUDIENCE, profile: wimse() })(url)).status).toBe(200)
    expect(asked).toBe(before + 1)
  })

  it('refuses an attestation, which this profile does not carry', () => {
    const attestation = {} as never
    expect(() => node.fetchWith({ audience: AUDIENCE, profile: wimse(), attestation })).toThrow(
      'carries no attestation',
    )
  })

  it('fails with the reason of an authority that issues no tokens', async () => {
    const other = await join(off)
    const failed = other.fetchWith({ audience: AUDIENCE, profile: wimse() })(url)
    await expect(failed).rejects.toThrow(RefusedError)
    await expect(other.fetchWith({ audience: AUDIENCE, profile: wimse() })(url)).rejects.toMatchObject({
      code: 'wimse_disabled',
    })
    await other.stop()
  })

  it('is refused by the service once the certificate is on its list', async () => {
    const { cert_id } = node.certificate
    accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'unspecified' }))
    await party.refresh()
    expect((await node.fetchWith({ audience: AUDIENCE, profile: wimse() })(url)).status).toBe(403)
  })
})
