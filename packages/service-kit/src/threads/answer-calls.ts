import { parentPort } from 'node:worker_threads'
import type { Transferable } from 'node:worker_threads'
import type { CallMessage, ReplyMessage } from './thread.ts'

/** An answer whose buffers move to the caller instead of being copied. */
export class Moved {
  readonly value: unknown
  readonly buffers: readonly Transferable[]

  constructor(value: unknown, buffers: readonly Transferable[]) {
    this.value = value
    this.buffers = buffers
  }
}

export type Operations = Readonly<Record<string, (argument: never) => unknown>>

/**
 * The far side of a {@link Thread}. `in turn` runs one operation after another, so that none sees another half done;
 * `at once` lets a short question pass a long one, for operations that only read.
 */
export function serveCalls(operations: Operations, order: 'in turn' | 'at once' = 'in turn'): void {
  const port = parentPort
  if (port === null) throw new Error('this file must run in a separate thread')
  let last = Promise.resolve()
  port.on('message', (message: CallMessage) => {
    const before = order === 'in turn' ? last : Promise.resolve()
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
    return value instanceof Moved
      ? { reply: { call, value: value.value }, buffers: value.buffers }
      : { reply: { call, value }, buffers: [] }
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error('thrown')
    return { reply: { call, failure: { name: error.name, message: error.message } }, buffers: [] }
  }
}
