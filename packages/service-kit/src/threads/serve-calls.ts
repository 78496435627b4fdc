import { type Transferable, parentPort } from 'node:worker_threads'
import type { CallMessage, ReplyMessage } from './thread.ts'

/** A result whose buffers are moved to the caller instead of copied. */
export class Transfer {
  readonly value: unknown
  readonly buffers: readonly Transferable[]

  constructor(value: unknown, buffers: readonly Transferable[]) {
    this.value = value
    this.buffers = buffers
  }
}

export type Operations = Readonly<Record<string, (argument: never) => unknown>>

/**
 * Runs the operations of a {@link Thread} in the worker. `serial` runs one operation after another. `concurrent` runs
 * them concurrently, for operations that only read.
 */
export function serveCalls(operations: Operations, order: 'serial' | 'concurrent' = 'serial'): void {
  const port = parentPort
  if (port === null) throw new Error('this file must run in a separate thread')
  let last = Promise.resolve()
  port.on('message', (message: CallMessage) => {
    const before = order === 'serial' ? last : Promise.resolve()
    last = before.then(async () => {
      const { reply, buffers } = await run(message, operations)
      port.postMessage(reply, [...buffers])
    })
  })
}

async function run(
  { call, operation, argument }: CallMessage,
  operations: Operations,
): Promise<{ reply: ReplyMessage; buffers: readonly Transferable[] }> {
  try {
    const found = Object.hasOwn(operations, operation) ? operations[operation] : undefined
    if (found === undefined) throw new Error(`there is no operation ${operation}`)
    const value = await found(argument as never)
    return value instanceof Transfer
      ? { reply: { call, value: value.value }, buffers: value.buffers }
      : { reply: { call, value }, buffers: [] }
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error('thrown')
    return { reply: { call, failure: { name: error.name, message: error.message } }, buffers: [] }
  }
}
