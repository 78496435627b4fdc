import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Wire, request, startEdge } from './test-edge.suite.ts'

// reliability 14: a response without progress for 20 s is cancelled. Node's socket timeout detects it; the test emits
// it.
describe('slow readers', () => {
  it('have a timeout while their response is unread, and their connection is closed after it', async () => {
    const edge = await startEdge()
    const sockets: Socket[] = []
    edge.server.listener.on('connection', (socket: Socket) => sockets.push(socket))
    const stuck = await Wire.open(edge.port)
    stuck.socket.pause()
    stuck.send(request('GET /large'))
    while ((sockets[0]?.writableLength ?? 0) === 0) await pause(5)
    expect(sockets[0]?.timeout).toBe(20_000)
    sockets[0]?.emit('timeout')
    stuck.socket.resume()
    await expect(stuck.reply()).rejects.toThrow('without a complete response')
    await edge.stop()
  })

  it('include callers with a second response queued after an unread one', async () => {
    const edge = await startEdge()
    const sockets: Socket[] = []
    edge.server.listener.on('connection', (socket: Socket) => sockets.push(socket))
    const stuck = await Wire.open(edge.port)
    stuck.socket.pause()
    stuck.send(`${request('GET /large')}${request('GET /large')}`)
    while ((sockets[0]?.writableLength ?? 0) === 0) await pause(5)
    sockets[0]?.emit('timeout')
    stuck.socket.resume()
    expect(await stuck.closes()).toBe(true)
    await edge.stop()
  })

  it('do not include callers whose response was sent completely', async () => {
    const edge = await startEdge()
    const sockets: Socket[] = []
    edge.server.listener.on('connection', (socket: Socket) => sockets.push(socket))
    const quick = await Wire.open(edge.port)
    for (let i = 0; i < 3; i += 1) expect((await quick.send(request('GET /healthz')).reply()).status).toBe(200)
    expect(sockets[0]?.listenerCount('timeout')).toBe(1)
    expect(sockets[0]?.timeout).toBeLessThan(20_000)
    quick.end()
    await edge.stop()
  })
})
