import type { JsonObject } from '@chancery/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findBrokenLink } from '../../state/audit-log.ts'
import { openStateFile } from '../../state/state-file.ts'
import { readStateValues } from '../../state/state-values.ts'
import { auditEvents } from '../../test-gateway.suite.ts'
import { type DecidingGateway, startDecidingGateway } from './deciding-gateway.suite.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const TRACEPARENT = `00-${TRACE}-00f067aa0ba902b7-01`

/** Asks for a decision with these headers. Returns what both audits say about it. */
async function traced(
  { ask, attest, gateway, na }: DecidingGateway,
  headers: Readonly<Record<string, string | readonly string[]>>,
): Promise<{ readonly ofGateway: unknown; readonly ofAuthority: unknown }> {
  const subject = { type: 'attestation', id: await attest() }
  const question = { subject, action: { name: 'print' }, resource: { type: 'printer', id: 'p1' } }
  const answer = await ask(question, { headers: headers as Record<string, string> })
  expect(answer.body['decision']).toBe(true)
  const id = answer.headers['x-request-id']
  const events = (await auditEvents(gateway)).filter(
    ({ request_id, phase }) => request_id === id && phase === 'completed',
  )
  expect(events).toHaveLength(1)
  const decided = (await na.auditEvents()).filter((event) => (event['details'] as JsonObject)['request_id'] === id)
  expect(decided.map((event) => event['event_type'])).toContain('boundary_attestation_decision_made')
  const traces = new Set(decided.map((event) => (event['details'] as JsonObject)['trace_id']))
  expect(traces.size).toBe(1)
  const context = events[0]?.['context'] as JsonObject | undefined
  return { ofGateway: context?.['trace_id'], ofAuthority: [...traces][0] }
}

describe('the trace of a caller', () => {
  let setup: DecidingGateway
  beforeAll(async () => {
    setup = await startDecidingGateway({ kind: 'operator', state: 'new', network: { forward_traceparent: true } })
  })
  afterAll(() => setup.stop())

  it('is in the audit of the gateway and of the authority', async () => {
    expect(await traced(setup, { traceparent: TRACEPARENT })).toEqual({ ofGateway: TRACE, ofAuthority: TRACE })
  })

  it.each<[string, Readonly<Record<string, string | readonly string[]>>]>([
    ['there is none', {}],
    ['it is malformed', { traceparent: `${TRACEPARENT}-more` }],
    ['there are two', { traceparent: [TRACEPARENT, TRACEPARENT] }],
    ['only tracestate is sent', { tracestate: 'a=b', baggage: 'c=d' }],
  ])('is in neither when %s', async (_name, headers) => {
    expect(await traced(setup, headers)).toEqual({ ofGateway: undefined, ofAuthority: undefined })
  })

  it('leaves a valid chain of events with and without it', async () => {
    const file = `${setup.gateway.home}/gateway.state`
    const db = openStateFile({ file, isReadOnly: true, maxBytes: 1_073_741_824 })
    try {
      expect(findBrokenLink(db, readStateValues(db))).toBeUndefined()
    } finally {
      db.close()
    }
  })
})

describe('without forward_traceparent', () => {
  let setup: DecidingGateway
  beforeAll(async () => {
    setup = await startDecidingGateway({ kind: 'operator', state: 'new' })
  })
  afterAll(() => setup.stop())

  it('the authority gets no trace', async () => {
    expect(await traced(setup, { traceparent: TRACEPARENT })).toEqual({ ofGateway: TRACE, ofAuthority: undefined })
  })

  it('a refused caller is audited with its trace', async () => {
    const headers = { traceparent: TRACEPARENT.replace('4bf', '5bf') }
    expect((await setup.ask({}, { token: 'x'.repeat(40), headers })).status).toBe(401)
    const contexts = (await auditEvents(setup.gateway)).map(({ context }) => context as JsonObject | undefined)
    expect(contexts.filter((context) => context?.['trace_id'] === TRACE.replace('4bf', '5bf'))).toEqual([
      expect.objectContaining({ outcome: 'refused' }),
    ])
  })
})
