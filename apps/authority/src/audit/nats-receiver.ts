import { readFile } from 'node:fs/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, credsAuthenticator, headers, nanos } from '@nats-io/transport-node'
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node'
import { type AuditFormat, CLOUD_EVENT_TYPE } from '@chancery/contract'
import type { EventReceiver } from './forward.ts'

export interface NatsOptions {
  readonly url: string
  readonly credsFile: string | undefined
  readonly caFile: string | undefined
  readonly stream: string
  /** Events go to `<subject>.<event type>`, in another form than JSON to `<subject>.<format>.<event type>`. */
  readonly subject: string
  /** Default: json. */
  readonly format?: AuditFormat | undefined
}

export interface NatsReceiver extends EventReceiver {
  close(): Promise<void>
}

/** Publishing the same id again within this time stores it once; later it is stored again, with the same id. */
const DUPLICATE_WINDOW_MS = 30 * 60_000
const ACK_MS = 10_000

/** Connection options of the broker. */
export async function natsOptions(place: NatsOptions): Promise<NodeConnectionOptions> {
  // The client drops the scheme of an address. Without this option it would accept that a broker, or an attacker on the
  // network, offers no TLS, and send everything unencrypted.
  const isTls = place.caFile !== undefined || new URL(place.url).protocol === 'tls:'
  const ca = place.caFile === undefined ? {} : { ca: await readFile(place.caFile, 'utf8') }
  return {
    servers: place.url,
    name: 'chancery-audit-forward',
    // A broker may be unavailable for long. Nothing is lost, because events are in the database.
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
    reconnectTimeWait: 500,
    ...(place.credsFile === undefined ? {} : { authenticator: credsAuthenticator(await readFile(place.credsFile)) }),
    ...(isTls ? { tls: ca } : {}),
  }
}

/** A JetStream stream. It is created when it is missing. An existing one belongs to the operator and is not changed. */
export async function openNatsReceiver(place: NatsOptions, networkName: string): Promise<NatsReceiver> {
  const connection = await connect(await natsOptions(place))
  const client = jetstream(connection, { timeout: ACK_MS })
  const { format = 'json' } = place
  const prefix = format === 'json' ? place.subject : `${place.subject}.${format}`
  let isThere = false
  return {
    async publish({ event_id, event_type, line, sequence }) {
      if (!isThere) await ensureStream(connection, place)
      isThere = true
      const marks = headers()
      marks.set('Chancery-Network', encodeURIComponent(networkName))
      marks.set('Chancery-Sequence', String(sequence))
      if (format === 'cloudevents') marks.set('Content-Type', CLOUD_EVENT_TYPE)
      // The broker drops a repeated id. Two forms of one event in one stream are not repetitions.
      const msgID = format === 'json' ? event_id : `${event_id}:${format}`
      // Only this stream counts as stored: another one may have the same subject.
      const expect = { streamName: place.stream }
      await client.publish(`${prefix}.${event_type}`, line, { msgID, headers: marks, expect })
    },
    // Nothing is pending: the caller has stopped publishing, and unconfirmed events are sent again next time.
    close: () => connection.close(),
  }
}

async function ensureStream(connection: NatsConnection, { stream, subject }: NatsOptions): Promise<void> {
  const manager = await jetstreamManager(connection, { timeout: ACK_MS })
  const names = await manager.streams.names(`${subject}.>`).next()
  if (names.includes(stream)) return
  const duplicate_window = nanos(DUPLICATE_WINDOW_MS)
  await manager.streams.add({ name: stream, subjects: [`${subject}.>`], storage: 'file', duplicate_window })
}
