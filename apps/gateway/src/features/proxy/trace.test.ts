import { startTestGateway, testClient, testIssuer, testList, testNetwork, testPolicy } from '@chancery/testkit'
import type { JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ScriptedAuthority, startScriptedAuthority } from '../../scripted-authority.suite.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const caller = testClient('service', ['agency'], { service_groups: ['network'] })

let authority: ScriptedAuthority
beforeAll(async () => {
  authority = await startScriptedAuthority()
})
afterAll(() => authority.stop())

/** The trace headers that the authority gets when a caller sends these. */
async function forwarded(allowed: JsonObject, headers: Record<string, string>): Promise<object> {
  const by = await testIssuer('agency')
  const reached = { authority_url: authority.url, allow_http: true, ...allowed }
  const agency = testNetwork(by, await testList(by, systemClock.now()), reached)
  const gateway = await startTestGateway({ policy: testPolicy({ agency }, [caller]) })
  authority.seen.length = 0
  try {
    const path = '/v1/networks/agency/services/crl-get-crl'
    expect((await gateway.request('GET', path, { token: caller.token, headers })).status).toBe(200)
  } finally {
    await gateway.stop()
  }
  const { traceparent, tracestate, baggage } = authority.seen[0]?.headers ?? {}
  return { traceparent, tracestate, baggage }
}

const NONE = { traceparent: undefined, tracestate: undefined, baggage: undefined }
const SENT = { traceparent: TRACEPARENT, tracestate: 'a=b', baggage: 'c=d' }
const ON = { forward_traceparent: true }

it('forwards no trace by default', async () => {
  expect(await forwarded({}, SENT)).toEqual(NONE)
})

it('forwards one well-formed traceparent where the operator allows it, and never tracestate or baggage', async () => {
  expect(await forwarded(ON, SENT)).toEqual({ ...NONE, traceparent: TRACEPARENT })
})

it('forwards no malformed traceparent', async () => {
  expect(await forwarded(ON, { ...SENT, traceparent: 'x' })).toEqual(NONE)
})
