import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'

export interface RecordedStream {
  readonly messages: number
  /** Content by Nats-Msg-Id. */
  readonly byId: ReadonlyMap<string, string>
  /** Ids with two contents, or an id that is not that of its event. */
  readonly contradictions: number
}

/** Reads the whole stream like any other consumer. */
export async function readStream(url: string, stream: string): Promise<RecordedStream> {
  const connection = await connect({ servers: url })
  try {
    const manager = await jetstreamManager(connection)
    const { messages } = (await manager.streams.info(stream)).state
    await manager.consumers.add(stream, { name: 'checker', ack_policy: AckPolicy.None })
    const consumer = await jetstream(connection).consumers.get(stream, 'checker')
    const byId = new Map<string, string>()
    let [seen, contradictions] = [0, 0]
    while (seen < messages) {
      const batch = await consumer.fetch({ max_messages: Math.min(1000, messages - seen), expires: 5000 })
      for await (const message of batch) {
        seen += 1
        const [id, text] = [message.headers?.get('Nats-Msg-Id') ?? '', message.string()]
        const isSame = (byId.get(id) ?? text) === text
        if (!isSame || (JSON.parse(text) as { event_id?: string }).event_id !== id) contradictions += 1
        byId.set(id, text)
      }
    }
    return { messages, byId, contradictions }
  } finally {
    await connection.close()
  }
}
