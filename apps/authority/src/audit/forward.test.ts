import { writeAuditLine } from '@chancery/contract'
import { silentLog, systemClock } from '@chancery/service-kit'
import { accepted, publishFirst, startTestAuthority, startTemporaryNats } from '@chancery/testkit'
import type { TestAuthority, TemporaryNats } from '@chancery/testkit'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BEGINNING, type ExportedEvent, type LineWriter } from './export.ts'
import { type EventReceiver, forwardAudit, resetPosition } from './forward.ts'
import { natsOptions, openNatsReceiver } from './nats-receiver.ts'

let na: TestAuthority
let nats: TemporaryNats
beforeAll(async () => {
  na = await startTestAuthority()
  await publishFirst(na)
  nats = await startTemporaryNats()
  for (const id of ['a', 'b', 'c'])
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: `forwarded-${id}` }), 201)
})
afterAll(async () => {
  await na.stop()
  await nats.remove()
})

const forward = (receiver: EventReceiver, name: string, write?: LineWriter): ReturnType<typeof forwardAudit> =>
  forwardAudit({
    database: na.core.database,
    receiver,
    name,
    clock: systemClock,
    log: silentLog,
    signal: new AbortController().signal,
    isOnce: true,
    pageSize: 2,
    pauseMs: 5,
    ...(write === undefined ? {} : { write }),
  })

/** Stores the confirmed events. Fails as configured. */
class Recorder implements EventReceiver {
  readonly ids: string[] = []
  failures: number

  constructor(failures = 0) {
    this.failures = failures
  }

  async publish({ event_id }: ExportedEvent): Promise<void> {
    if (this.failures > 0) {
      this.failures -= 1
      throw new Error('the broker is unavailable')
    }
    this.ids.push(event_id)
  }
}

const allIds = async (): Promise<string[]> => (await na.auditEvents()).map((event) => String(event['event_id'])).sort()

describe('forwarding audit events', () => {
  it('sends each once while nothing fails, and only new ones the next time', async () => {
    const receiver = new Recorder()
    await forward(receiver, 'calm')
    expect([...receiver.ids].sort()).toEqual(await allIds())
    const before = receiver.ids.length
    accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'forwarded-later' }), 201)
    await forward(receiver, 'calm')
    expect(receiver.ids.length).toBeGreaterThan(before)
    expect(new Set(receiver.ids).size).toBe(receiver.ids.length)
    expect([...receiver.ids].sort()).toEqual(await allIds())
  })

  it('sends a page again that was not confirmed as a whole', async () => {
    const receiver = new Recorder(3)
    // Ends only when all events were confirmed: after failures the loop continues by itself.
    while (receiver.failures > 0) await forward(receiver, 'shaky')
    await forward(receiver, 'shaky')
    expect([...new Set(receiver.ids)].sort()).toEqual(await allIds())
  })

  it('stores a position for each name, and begins again on request', async () => {
    const receiver = new Recorder()
    await forward(receiver, 'calm')
    expect(receiver.ids).toEqual([])
    await resetPosition(na.core.database, 'calm', BEGINNING, '2026-01-01T00:00:00.000000Z')
    await forward(receiver, 'calm')
    expect([...receiver.ids].sort()).toEqual(await allIds())
  })

  it('lets the broker drop repeated events, by the id of the event', async () => {
    const place = { url: nats.url, credsFile: undefined, caFile: undefined, stream: 'AUDIT', subject: 'net.audit' }
    const receiver = await openNatsReceiver(place, 'TEST-NET')
    const connection = await connect({ servers: nats.url })
    try {
      await forward(receiver, 'broker')
      await resetPosition(na.core.database, 'broker', BEGINNING, '2026-01-01T00:00:00.000000Z')
      await forward(receiver, 'broker')
      const manager = await jetstreamManager(connection)
      const { state, config } = await manager.streams.info('AUDIT', { subjects_filter: '>' })
      expect(state.messages).toBe((await allIds()).length)
      expect(config.storage).toBe('file')
      expect(Object.keys(state.subjects ?? {})).toContain('net.audit.policy_published')
      const first = await manager.streams.getMessage('AUDIT', { seq: 1 })
      expect(first?.header.get('Nats-Msg-Id')).toBe(first?.json<{ event_id: string }>().event_id)
      expect(first?.header.get('Chancery-Network')).toBe('TEST-NET')
    } finally {
      await connection.close()
      await receiver.close()
    }
  })

  it('stores another form of the same events in the same stream', async () => {
    const place = { url: nats.url, credsFile: undefined, caFile: undefined, stream: 'FORMS', subject: 'net.forms' }
    const origin = { service: 'authority', network: 'TEST-NET', version: '0' } as const
    const connection = await connect({ servers: nats.url })
    try {
      for (const format of ['json', 'ocsf', 'cloudevents'] as const) {
        const receiver = await openNatsReceiver({ ...place, format }, 'TEST-NET')
        await forward(receiver, `form-${format}`, (event) => writeAuditLine(event, format, origin))
        await receiver.close()
      }
      const manager = await jetstreamManager(connection)
      const { state } = await manager.streams.info('FORMS', { subjects_filter: '>' })
      const count = (await allIds()).length
      expect(state.messages).toBe(3 * count)
      const subjects = Object.keys(state.subjects ?? {})
      expect(subjects).toContain('net.forms.policy_published')
      expect(subjects).toContain('net.forms.ocsf.policy_published')
      const last = await manager.streams.getMessage('FORMS', { seq: 3 * count })
      const event = last?.json<{ id: string; specversion: string }>()
      expect(event?.specversion).toBe('1.0')
      expect(last?.header.get('Nats-Msg-Id')).toBe(`${event?.id}:cloudevents`)
      expect(last?.header.get('Content-Type')).toBe('application/cloudevents+json; charset=utf-8')
    } finally {
      await connection.close()
    }
  })

  it('sends nothing unencrypted to an address that requires TLS', async () => {
    const url = nats.url.replace('nats://', 'tls://')
    const place = { url, credsFile: undefined, caFile: undefined, stream: 'AUDIT', subject: 'net.audit' }
    const once = { ...(await natsOptions(place)), waitOnFirstConnect: false, maxReconnectAttempts: 0 }
    await expect(connect(once)).rejects.toThrow("does not support 'tls'")
  })
})
