import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestGatewaySetup, auditEvents, expectRefusal, startTestSetup } from '../../test-gateway.suite.ts'

let setup: TestGatewaySetup
beforeAll(async () => {
  setup = await startTestSetup({ state: 'new' })
})
afterAll(() => setup.gateway.stop())

const read = (id: string, token = setup.caller.token) => setup.gateway.request('GET', `/v1/audit/${id}`, { token })

describe('GET /v1/audit/{request_id}', () => {
  it('200: both events of a request, for its client only', async () => {
    const asked = await setup.verify(await setup.certificate())
    const id = String(asked.headers['x-request-id'])
    const { body } = await read(id)
    expect(body).toMatchObject({
      request_id: id,
      durable_audit: true,
      searched_events: 5000,
      events: [
        { phase: 'started', route: '/verify' },
        { phase: 'completed', status: 200, context: { client_id: 'caller', trust_decision: { trusted: true } } },
      ],
    })
    expect((await read(id, setup.metricsClient.token)).body['events']).toEqual([])
  })

  it('200: no events of a scrape of the metrics, which would fill the state', async () => {
    const scraped = await setup.gateway.request('GET', '/metrics', { token: setup.metricsClient.token })
    expect(scraped.status).toBe(200)
    const id = String(scraped.headers['x-request-id'])
    expect((await read(id, setup.metricsClient.token)).body['events']).toEqual([])
    const routes = (await auditEvents(setup.gateway)).map(({ route }) => route)
    expect(routes).not.toContain('/metrics')
  })

  it('200: no events of an unknown request', async () => {
    expect((await read('nothing')).body['events']).toEqual([])
  })

  it('400: an id of another form', async () => {
    expectRefusal(await read('%22'), 400, 'invalid_request', 'parameter_invalid')
  })

  it('200: says that there is no stored audit', async () => {
    const bare = await startTestSetup()
    try {
      const { body } = await bare.gateway.request('GET', '/v1/audit/x', { token: bare.caller.token })
      expect(body).toMatchObject({ durable_audit: false, events: [] })
    } finally {
      await bare.gateway.stop()
    }
  })
})
