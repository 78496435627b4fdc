import { setTimeout as pause } from 'node:timers/promises'
import { route } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { StreamResponse, type StreamWriter } from './response.ts'
import { type Edge, TABLE, Wire, request, startEdge } from './test-edge.suite.ts'
import type { Socket } from 'node:net'

interface Opened extends Edge {
  readonly writers: readonly StreamWriter[]
  readonly over: () => number
}

async function startStreams(): Promise<Opened> {
  const writers: StreamWriter[] = []
  let over = 0
  const stream = new StreamResponse(
    'text/event-stream',
    (writer) => {
      writers.push(writer)
      writer.write('first\n')
      return () => void (over += 1)
    },
    { 'Cache-Control': 'no-store, no-transform' },
  )
  const facts = { access: 'public', limit: 'public', stability: 'internal', success: 200, response: 'json' } as const
  const watched = route('GET /stream', { ...facts, summary: 'Test', purpose: 'Test.' })
  const edge = await startEdge({ bindings: [...TABLE, { route: watched, handle: () => stream }] })
  return { ...edge, writers, over: () => over }
}

/** Opens a stream and returns what it received so far. */
async function openStream(edge: Edge): Promise<{ readonly wire: Wire; readonly text: () => string }> {
  const wire = await Wire.open(edge.port)
  const pieces: Buffer[] = []
  wire.socket.on('data', (piece: Buffer) => pieces.push(piece))
  wire.send(request('GET /stream'))
  const text = (): string => Buffer.concat(pieces).toString('latin1')
  await expect.poll(text).toContain('first\n')
  return { wire, text }
}

describe('streams', () => {
  it('send text while they are open, use no slot, and report their end once', async () => {
    const edge = await startStreams()
    const { wire, text } = await openStream(edge)
    expect(text()).toMatch(/^HTTP\/1\.1 200 .*Cache-Control: no-store, no-transform\r\n/s)
    expect(edge.server.load()).toMatchObject({ inFlight: 0, streams: 1 })
    edge.writers[0]?.write('second\n')
    await expect.poll(text).toContain('second\n')
    wire.end()
    await expect.poll(() => [edge.server.load().streams, edge.over()]).toEqual([0, 1])
    edge.writers[0]?.write('after the end')
    edge.writers[0]?.end()
    expect(edge.over()).toBe(1)
    await edge.stop()
  })

  it('end when the service ends them, and the connection stays usable', async () => {
    const edge = await startStreams()
    const { wire, text } = await openStream(edge)
    edge.writers[0]?.end()
    await expect.poll(text).toMatch(/0\r\n\r\n$/)
    await expect.poll(edge.over).toBe(1)
    wire.send(request('GET /healthz'))
    await expect.poll(text).toContain('{"status":"ok"}')
    wire.end()
    await edge.stop()
  })

  it('end with the drain, which does not wait for them; later ones end at once', async () => {
    const edge = await startStreams()
    const { text } = await openStream(edge)
    const stuck = await openStream(edge)
    stuck.wire.socket.pause()
    const waiting = await Wire.open(edge.port)
    edge.server.stopKeepAlive()
    await expect.poll(text).toMatch(/0\r\n\r\n$/)
    waiting.send(request('GET /stream'))
    expect(await waiting.closes()).toBe(true)
    expect(edge.writers).toHaveLength(2)
    const startedMs = performance.now()
    await edge.stop()
    expect(performance.now() - startedMs).toBeLessThan(3000)
    expect([edge.over(), edge.server.load().streams]).toEqual([2, 0])
  })

  it('are cut when their caller does not read', async () => {
    const edge = await startStreams()
    const { wire } = await openStream(edge)
    wire.socket.pause()
    const piece = 'x'.repeat(60_000)
    // The operating system takes megabytes before the process holds any.
    for (let i = 0; i < 2000 && edge.over() === 0; i += 1) {
      edge.writers[0]?.write(piece)
      await pause(1)
    }
    expect([edge.over(), edge.server.load().streams]).toEqual([1, 0])
    await edge.stop()
  })

  it('have a head only for HEAD', async () => {
    const edge = await startStreams()
    const wire = await Wire.open(edge.port)
    expect((await wire.send(request('HEAD /stream')).reply('HEAD')).status).toBe(200)
    expect(edge.writers).toHaveLength(0)
    wire.end()
    await edge.stop()
  })
})

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
