import type { ChildProcess } from 'node:child_process'

/** A connection that the supervisor accepted. */
interface Connection {
  close(): void
}

interface ClusterMessage {
  readonly cmd?: string
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

/**
 * Closes the connections that a worker was given and did not take before it ended. `node:cluster` keeps them open in
 * the supervisor without a reader, so their callers would wait without end.
 */
export function closeUntaken(worker: ChildProcess): void {
  const given = new Map<number, Connection>()
  const send = worker.send.bind(worker) as (...values: readonly unknown[]) => boolean
  worker.send = ((message: ClusterMessage, connection?: Connection, ...more: readonly unknown[]) => {
    if (message.cmd === 'NODE_CLUSTER' && message.act === 'newconn' && message.seq !== undefined && connection)
      given.set(message.seq, connection)
    return send(message, connection, ...more)
  }) as typeof worker.send
  worker.on('internalMessage', ({ cmd, ack }: ClusterMessage) => {
    if (cmd === 'NODE_CLUSTER' && ack !== undefined) given.delete(ack)
  })
  // Not at `disconnect`, which Node does not emit while a connection is on its way. No process reads from them now.
  worker.once('exit', () => {
    for (const connection of given.values()) connection.close()
    given.clear()
  })
}
