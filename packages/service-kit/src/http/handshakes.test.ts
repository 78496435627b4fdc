import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Handshakes } from './client-address.ts'

let ports = 0

/** The part of a connection that Handshakes uses. `close` is emitted some time after the end, as in Node. */
class Connection extends EventEmitter {
  readonly remoteAddress = '192.0.2.1'
  readonly remotePort = (ports += 1)
  readonly localAddress = '192.0.2.2'
  readonly localPort = 443
  destroyed = false

  destroy(): void {
    this.destroyed = true
  }

  setTimeout(): this {
    return this
  }
}

describe('Handshakes', () => {
  it('starts the next queued connection when one closed just before its start', () => {
    const handshakes = new Handshakes()
    const began: Connection[] = []
    const begin = (): Connection => {
      const connection = new Connection()
      handshakes.begin(connection as unknown as Socket, () => began.push(connection))
      return connection
    }
    const first = Array.from({ length: 8 }, begin)
    const [broken, ...waiting] = Array.from({ length: 4 }, begin)
    expect(began).toEqual(first)
    broken?.destroy()
    // It is skipped and the next one starts; its close event is emitted only then.
    first[0]?.emit('close')
    broken?.emit('close')
    for (const connection of first.slice(1)) connection.emit('close')
    expect(began.slice(8)).toEqual(waiting)
  })
})
