import { writeFile } from 'node:fs/promises'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '@chancery/protocol'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { FollowedParty } from '@chancery/sdk/internal'
import { authenticate } from '@chancery/sdk/nodejs'
import { wimse } from '@chancery/sdk/wimse'
import { createAuthorizer } from '@chancery/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

const DOMAIN = 'agency.example.org'
let network: RealNetwork
let service: Server
let origin: string
beforeAll(async () => {
  network = await openNetwork({ NA_WIMSE_TRUST_DOMAIN: DOMAIN })
  await network.join('node')
  const clock = () => network.clock.now()
  const { genesis, na } = network
  const party = await FollowedParty.open({ client: createAuthorityClient({ url: na.url, clock }), genesis, clock })
  const profiles = [wimse({ networks: [{ genesis, trustDomain: DOMAIN }] })]
  const authorizer = createAuthorizer({ audience: 'https://print.example', trust: party, clock, profiles })
  service = createServer(
    authenticate(authorizer, (_request, response, { caller }) => response.end(caller.certificate.cert_id)),
  )
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
})
afterAll(async () => {
  await new Promise((resolve) => service.close(resolve))
  await network.close()
})

const LINE =
  'node call https://print.example --home node --audience https://print.example --profile wimse --print-headers'

function headersOf(text: string): Record<string, string> {
  const lines = text.trimEnd().split('\n')
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
}

describe('wit', () => {
  it('prints fields that a service accepts, once', async () => {
    const { code, stdout, stderr } = await network.run(`${LINE} --request-url ${origin}/jobs?page=1`)
    expect([code, stderr]).toEqual([0, expect.stringContaining('one request in the next 60 seconds')])
    const headers = headersOf(stdout)
    const send = (): Promise<Response> => fetch(`${origin}/jobs?page=1`, { headers })
    expect((await send()).status).toBe(200)
    expect((await send()).status).toBe(401)
  })

  it('signs method, body and given fields', async () => {
    await writeFile(network.setup.path('body.json'), '{"copies":2}')
    const flags = '--method POST --body body.json --header content-type=application/json --header Authorization=x'
    const { json } = await network.run(`${LINE} --request-url ${origin}/jobs ${flags} --json`)
    const { headers } = json() as { headers: Record<string, string> }
    expect(headers['signature-input']).toContain('"content-type" "content-digest" "authorization"')
    const send = (body: string): Promise<Response> => fetch(`${origin}/jobs`, { method: 'POST', headers, body })
    expect((await send('{"copies":2}')).status).toBe(200)
    const again = (await network.run(`${LINE} --request-url ${origin}/jobs ${flags} --json`)).json() as {
      headers: JsonObject
    }
    const changed = { method: 'POST', headers: again.headers as Record<string, string>, body: '{"copies":3}' }
    expect((await fetch(`${origin}/jobs`, changed)).status).toBe(401)
  })

  it('says what is missing', async () => {
    const noUrl = await network.run(
      'node call printers --home node --audience printers --profile wimse --print-headers',
    )
    expect([noUrl.code, noUrl.stderr]).toEqual([2, expect.stringContaining('--request-url')])
    const off = await openNetwork()
    await off.join('node')
    const { code, stderr } = await off.run(LINE)
    await off.close()
    expect([code, stderr]).toEqual([1, expect.stringContaining('NA_WIMSE_TRUST_DOMAIN')])
  })
})
