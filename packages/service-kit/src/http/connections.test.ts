import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Connections, Handshakes } from './connections.ts'
import { EventEmitter } from 'node:events'

/** A socket with this remote address. Test machines have no address in a second network. */
function socketFrom(address: string): Socket {
  return Object.defineProperty(new Socket(), 'remoteAddress', { value: address })
}

function open(connections: Connections, ...addresses: string[]): Socket[] {
  return addresses.map((address) => {
    const socket = socketFrom(address)
    connections.admit(socket)
    return socket
  })
}

const closed = (sockets: readonly Socket[]): boolean[] => sockets.map((socket) => socket.destroyed)
const closing = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()))

describe('connections', () => {
  it('of one IPv6 /64 count as one address', () => {
    const connections = new Connections({ connectionsPerAddress: 2 })
    const same = open(connections, '2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:DB8:1:2::77')
    expect(closed(same)).toEqual([false, false, true])
    expect(closed(open(connections, '2001:db8:1:3::1'))).toEqual([false])
  })

  it('of an IPv4 address count as one, mapped into IPv6 or not', () => {
    const connections = new Connections({ connectionsPerAddress: 2 })
    expect(closed(open(connections, '192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1', '192.0.2.2'))).toEqual([
      false,
      false,
      true,
      false,
    ])
  })

  it('are free again when they close', async () => {
    const connections = new Connections({ connectionsPerAddress: 1 })
    const [first] = open(connections, '192.0.2.1')
    const gone = first === undefined ? undefined : closing(first)
    first?.destroy()
    await gone
    expect(connections.size).toBe(0)
    expect(closed(open(connections, '192.0.2.1'))).toEqual([false])
  })

  it('are closed at the address with the most when all are used, idle ones first', () => {
    const connections = new Connections({ connections: 4, connectionsPerAddress: 3 })
    const many = open(connections, '192.0.2.1', '192.0.2.1', '192.0.2.1')
    const few = open(connections, '192.0.2.2')
    if (many[0] !== undefined) connections.begin(many[0])
    const late = open(connections, '192.0.2.3')
    expect([closed(many), closed(few), closed(late)]).toEqual([[false, true, false], [false], [false]])
    expect(connections.size).toBe(4)
  })

  it('are refused to an address that would then have as many as the others', () => {
    const connections = new Connections({ connections: 4, connectionsPerAddress: 3 })
    open(connections, '192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.2')
    expect(closed(open(connections, '192.0.2.1', '192.0.2.2'))).toEqual([true, true])
    expect(closed(open(connections, '192.0.2.3'))).toEqual([false])
  })

  it('are not limited by address behind a proxy, but still counted', () => {
    const connections = new Connections({ connections: 2, connectionsPerAddress: 0 })
    expect(closed(open(connections, '192.0.2.1', '192.0.2.1', '192.0.2.1'))).toEqual([false, false, true])
  })

  it('count their requests', () => {
    const connections = new Connections({ connectionsPerAddress: 0 })
    const [socket] = open(connections, '192.0.2.1')
    if (socket === undefined) throw new Error('no socket')
    expect([connections.begin(socket), connections.begin(socket), connections.begin(socket)]).toEqual([1, 2, 3])
  })

  it('with TLS carry requests and responses on the secure connection', () => {
    const connections = new Connections({ connections: 3, connectionsPerAddress: 3 })
    const many = open(connections, '192.0.2.1', '192.0.2.1', '192.0.2.1')
    const secure = new Socket()
    if (many[0] !== undefined) connections.secure(secure, many[0])
    expect([connections.begin(secure), connections.begin(secure)]).toEqual([1, 2])
    expect(connections.hasUnsent).toBe(false)
    Object.defineProperty(secure, 'writableLength', { value: 1 })
    expect(connections.hasUnsent).toBe(true)
    open(connections, '192.0.2.2')
    expect(closed(many)).toEqual([false, true, false])
  })

  it('may all come from one address without a limit per address, until another address connects', () => {
    const connections = new Connections({ connections: 3, connectionsPerAddress: 3 })
    const many = open(connections, '2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:2::3', '2001:db8:1:2::4')
    expect(closed(many)).toEqual([false, false, false, true])
    expect(closed(open(connections, '2001:db8:1:3::1'))).toEqual([false])
    expect(closed(many)).toEqual([true, false, false, true])
  })
})

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
