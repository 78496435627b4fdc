import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { type JsonObject, type JsonValue, readJson } from '@chancery/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AUDIT_EVENTS, COMMON_AUDIT_DETAILS } from '../audit-events.ts'
import { GATEWAY_AUDIT_EVENTS } from '../gateway/audit-events.ts'
import { type AuditOrigin, writeAuditLine } from './index.ts'
import { AUTHORITY_EVENT_MAPPINGS, GATEWAY_EVENT_MAPPINGS } from './mapping.ts'
import { problemsOf } from './schemas.suite.ts'

const AT = '2026-11-15T10:05:00.123456Z'
const authority: AuditOrigin = { service: 'authority', network: 'TEST NET/1', version: '0.1.0' }
const gateway: AuditOrigin = { service: 'gateway', network: undefined, version: '0.1.0' }
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'

const COMMON: JsonObject = { remote_addr: '192.0.2.7', key_id: 'op-1', request_id: 'req-1', trace_id: TRACE }

/** A value that a member of this name has. */
function valueOf(name: string): JsonValue {
  if (['authorized', 'forced', 'complete'].includes(name)) return true
  if (/sequence|version|count|status$|elapsed/.test(name)) return 200
  if (name === 'applied_policies') return ['printing@3', 'a@b@12']
  if (name.endsWith('s')) return ['one', 'two']
  return `${name}-1`
}

function authorityEvent(event_type: string, details: JsonObject): JsonObject {
  return { sequence: 17, event_id: 'e-1', event_type, details, created_at: AT }
}

function gatewayEvent(name: string, facts: JsonObject): JsonObject {
  const chained = { sequence: 3, prev_hash: null, hash: 'ab' }
  if (name !== 'started' && name !== 'completed')
    return { event: name, event_id: `${name}:1`, ...facts, at: AT, ...chained }
  return { event_id: `r-1:${name}`, request_id: 'r-1', phase: name, ...facts, at: AT, ...chained }
}

function written(format: 'ocsf' | 'cloudevents', event: JsonObject, origin = authority): Record<string, unknown> {
  return JSON.parse(writeAuditLine(event, format, origin)) as Record<string, unknown>
}

const authorityTypes = Object.keys(AUDIT_EVENTS) as (keyof typeof AUDIT_EVENTS)[]
const gatewayTypes = Object.keys(GATEWAY_AUDIT_EVENTS) as (keyof typeof GATEWAY_AUDIT_EVENTS)[]

describe('every event of the contract', () => {
  it('has a mapping, and no mapping is left over', () => {
    expect(Object.keys(AUTHORITY_EVENT_MAPPINGS).sort()).toEqual([...authorityTypes].sort())
    expect(Object.keys(GATEWAY_EVENT_MAPPINGS).sort()).toEqual([...gatewayTypes].sort())
  })

  it('is named by members that the contract lists', () => {
    const unknown = (details: readonly string[], named: readonly string[]): readonly string[] =>
      named.filter((name) => !details.includes(name))
    for (const type of authorityTypes) {
      const mapping = AUTHORITY_EVENT_MAPPINGS[type]
      const details = [...AUDIT_EVENTS[type].details, ...COMMON_AUDIT_DETAILS]
      const more =
        mapping.class === 'entity'
          ? [mapping.version, mapping.operator]
          : mapping.class === 'call'
            ? mapping.caller
            : []
      expect({
        type,
        unknown: unknown(details, [...mapping.id, ...more.filter((name) => name !== undefined)]),
      }).toEqual({
        type,
        unknown: [],
      })
    }
  })

  it.each(authorityTypes)('%s follows both schemas, with all details and with none', (type) => {
    const all = Object.fromEntries(AUDIT_EVENTS[type].details.map((name) => [name, valueOf(name)]))
    for (const details of [{ ...all, ...COMMON }, all, {}]) {
      const event = authorityEvent(type, details)
      expect(problemsOf('ocsf', written('ocsf', event))).toEqual([])
      expect(problemsOf('cloudevents', written('cloudevents', event))).toEqual([])
      expect(written('ocsf', event)['unmapped']).toEqual(details)
      expect(written('cloudevents', event)['data']).toEqual(details)
    }
  })

  it.each(gatewayTypes)('%s of the gateway follows both schemas', (type) => {
    const all = Object.fromEntries(GATEWAY_AUDIT_EVENTS[type].details.map((name) => [name, valueOf(name)]))
    for (const facts of [all, { ...all, context: { client_id: 'c', operation: 'crl-current', trace_id: TRACE } }, {}]) {
      const event = gatewayEvent(type, facts)
      expect(problemsOf('ocsf', written('ocsf', event, gateway))).toEqual([])
      expect(problemsOf('cloudevents', written('cloudevents', event, gateway))).toEqual([])
    }
  })
})

describe('what a reader of OCSF relies on', () => {
  it('names no caller that was not verified', () => {
    const refused = { attestation_id: 'VICTIM', cert_id: 'VICTIM', code: 'not_bound' }
    expect(written('ocsf', authorityEvent('boundary_request_refused', refused))['actor']).toEqual({
      user: { name: 'unknown' },
    })
    const untrusted = { responder_sovereign_id: 'VICTIM', agreement_id: 'a', key_id: 'op-1' }
    expect(JSON.stringify(written('ocsf', authorityEvent('agreement_untrusted', untrusted))['actor'])).toContain('op-1')
  })

  it('counts events, and not the rows that an event removed', () => {
    expect(written('ocsf', authorityEvent('certificates_removed', { count: 500 }))).not.toHaveProperty('count')
    expect(written('ocsf', authorityEvent('evidence_rejected', { count: 500 }))['count']).toBe(500)
  })

  it('names an operation by the type of the event when nothing else names it', () => {
    const { api } = written('ocsf', gatewayEvent('completed', { status: 200 }), gateway) as { api: object }
    expect(api).toMatchObject({ operation: 'completed' })
  })
})

describe('events of other releases and unexpected values', () => {
  it('writes every stored event of release 0.2.0', () => {
    const file = new URL('../../../../tests/fixtures/releases/0.2.0/database.sqlite', import.meta.url)
    const db = new DatabaseSync(fileURLToPath(file), { readOnly: true })
    const rows = db.prepare('select event_json from audit_events').all()
    db.close()
    expect(rows).toHaveLength(40)
    for (const [index, { event_json }] of rows.entries()) {
      const event = { sequence: index + 1, ...(readJson(String(event_json)) as JsonObject) }
      expect(problemsOf('ocsf', written('ocsf', event))).toEqual([])
      expect(problemsOf('cloudevents', written('cloudevents', event))).toEqual([])
      expect(written('ocsf', event)).not.toMatchObject({ class_uid: 0 })
    }
  })

  it.each(['removed_in_2019', 'constructor', '__proto__'])('writes the unknown type %s as a base event', (type) => {
    const event = written('ocsf', authorityEvent(type, { a: 1 }))
    expect(problemsOf('ocsf', event)).toEqual([])
    expect(event).toMatchObject({ class_uid: 0, type_uid: 99, activity_name: type, unmapped: { a: 1 } })
  })

  it('follows the schemas whatever the details are', () => {
    const value = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.string(), { maxLength: 3 }),
      fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...authorityTypes),
        fc.array(value, { minLength: 16, maxLength: 16 }),
        (type, values) => {
          const names = [...AUDIT_EVENTS[type].details, 'remote_addr', 'key_id', 'request_id']
          const details = Object.fromEntries(names.map((name, i) => [name, values[i % values.length] as JsonValue]))
          const event = authorityEvent(type, details)
          expect(problemsOf('ocsf', written('ocsf', event))).toEqual([])
          expect(problemsOf('cloudevents', written('cloudevents', event))).toEqual([])
        },
      ),
      { numRuns: 200 },
    )
  })

  it.each(['a\u0000b', 'a\nb', 'a\uFFFE'])('keeps the claimed id %j out of the attributes', (key_id) => {
    const event = written('cloudevents', authorityEvent('admin_auth_failed', { key_id }))
    expect(event).not.toHaveProperty('subject')
    expect(event['data']).toEqual({ key_id })
    expect(problemsOf('cloudevents', { ...event, subject: key_id })).not.toEqual([])
  })

  it('names no id as trace that is not one', () => {
    const event = written('ocsf', authorityEvent('boundary_decision_made', { trace_id: 'x'.repeat(32) }))
    expect(event).not.toHaveProperty('trace')
    expect(problemsOf('ocsf', event)).toEqual([])
  })
})

describe('an OCSF event', () => {
  const decision = {
    decision_id: 'd-1',
    attestation_id: 'att-17',
    requested_capability: 'document.read',
    authorized: false,
    denial_reason: 'capability out of scope',
    applied_policies: ['printing@3'],
    ...COMMON,
  }

  it('of a denied decision: the decision succeeded and the action was denied', () => {
    expect(written('ocsf', authorityEvent('boundary_attestation_decision_made', decision))).toMatchObject({
      class_uid: 6003,
      category_uid: 6,
      activity_id: 2,
      type_uid: 600302,
      severity_id: 1,
      time: 1_794_737_100_123,
      status_id: 1,
      status_code: 'capability out of scope',
      action_id: 2,
      disposition_id: 2,
      authorizations: [{ decision: 'denied', policy: { uid: 'printing', version: '3' } }],
      actor: { user: { uid: 'att-17' } },
      api: { operation: 'document.read' },
      src_endpoint: { ip: '192.0.2.7' },
      trace: { uid: TRACE },
      metadata: {
        uid: 'e-1',
        sequence: 17,
        correlation_uid: 'req-1',
        original_time: AT,
        tenant_uid: 'TEST NET/1',
        profiles: ['security_control', 'trace'],
      },
    })
  })

  it('of a failed operator signature names the claimed key as user, not as actor', () => {
    const event = written('ocsf', authorityEvent('admin_auth_failed', { ...COMMON, reason: 'bad_signature' }))
    expect(event).toMatchObject({ class_uid: 3002, type_uid: 300_201, status_id: 2, status_code: 'bad_signature' })
    expect(event).toMatchObject({ user: { uid: 'op-1' }, severity_id: 3 })
    expect(event).not.toHaveProperty('actor')
  })

  it('of a revoked operator key names the operator who revoked it', () => {
    const event = written(
      'ocsf',
      authorityEvent('operator_key_revoked', { ...COMMON, key_id: 'lost', revoked_by: 'op-2' }),
    )
    expect(event).toMatchObject({ entity: { uid: 'lost' }, actor: { user: { uid: 'op-2' } } })
  })

  it.each([
    [{ status: 200 }, {}, { status_id: 1, action_id: 1 }],
    [{ status: 200 }, { trust_decision: { trusted: false, reasons: ['revoked'] } }, { status_id: 1, action_id: 2 }],
    [{ status: 200 }, { decisions: [{ decision_id: 'd', authorized: false, reused: false }] }, { action_id: 2 }],
    [{ status: 403 }, { reason: 'network_scope' }, { status_id: 2, action_id: 2, status_code: 'network_scope' }],
  ])('of a gateway request %j %j says what the response said', (facts, context, expected) => {
    expect(written('ocsf', gatewayEvent('completed', { ...facts, context }), gateway)).toMatchObject(expected)
  })

  it.each([
    [{ status: 503 }, {}],
    [
      { status: 200 },
      {
        trust_decisions: [
          { trusted: true, reasons: [] },
          { trusted: false, reasons: [] },
        ],
      },
    ],
  ])('of a gateway request %j %j without one verdict names no action', (facts, context) => {
    const event = written('ocsf', gatewayEvent('completed', { ...facts, context }), gateway)
    expect(event).not.toHaveProperty('action_id')
    expect(problemsOf('ocsf', event)).toEqual([])
  })
})

describe('the schemas', () => {
  const event = written('ocsf', authorityEvent('boundary_decision_made', { ...COMMON, authorized: true }))

  it.each([
    'class_uid',
    'category_uid',
    'activity_id',
    'type_uid',
    'severity_id',
    'time',
    'metadata',
    'actor',
    'api',
    'src_endpoint',
  ])('refuse an OCSF event without %s', (name) => {
    const { [name]: _left, ...rest } = event
    expect(problemsOf('ocsf', rest)).not.toEqual([])
  })

  it.each<[string, object]>([
    ['another type', { type_uid: 600_301 }],
    ['seconds instead of milliseconds', { time: 1_794_737_100 }],
    ['an unknown attribute', { note: 'x' }],
    ['an action without its profile', { metadata: { ...(event['metadata'] as object), profiles: ['trace'] } }],
    ['an empty endpoint', { src_endpoint: {} }],
  ])('refuse an OCSF event with %s', (_name, change) => {
    expect(problemsOf('ocsf', { ...event, ...change })).not.toEqual([])
  })

  it.each(['specversion', 'id', 'source', 'type'])('refuse a CloudEvent without %s', (name) => {
    const { [name]: _left, ...rest } = written('cloudevents', authorityEvent('crl_published', {}))
    expect(problemsOf('cloudevents', rest)).not.toEqual([])
  })
})
