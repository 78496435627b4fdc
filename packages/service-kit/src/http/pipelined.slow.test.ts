import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type Edge, LARGE_BYTES, Wire, once, request, startEdge } from './test-edge.suite.ts'

/** The smallest possible request. */
const TINY = 'GET / HTTP/1.1\r\n\r\n'

async function until(isSo: () => boolean): Promise<void> {
  for (let i = 0; i < 2000 && !isSo(); i += 1) await pause(5)
  expect(isSo()).toBe(true)
}

/** Counts parsed requests: the total, and the maximum in one event loop turn. */
function observeParser(edge: Edge, of: (request: IncomingMessage, count: () => void) => void) {
  const seen = { all: 0, mostInTurn: 0, turns: 0 }
  let [inTurn, isOver] = [0, false]
  const next = (): void => {
    seen.turns += 1
    seen.mostInTurn = Math.max(seen.mostInTurn, inTurn)
    inTurn = 0
    if (!isOver) setImmediate(next)
  }
  setImmediate(next)
  edge.server.listener.prependListener('request', (found: IncomingMessage) =>
    of(found, () => {
      seen.all += 1
      inTurn += 1
    }),
  )
  const stop = (): void => {
    isOver = true
  }
  return { seen, stop }
}

describe('requests sent without waiting for responses', () => {
  it('start one after another, each after the response to the one before', async () => {
    const holds: (() => void)[] = []
    const edge = await startEdge({ hold: () => new Promise((resolve) => holds.push(resolve)) })
    const wire = await Wire.open(edge.port)
    wire.send(request('GET /hold').repeat(3))
    for (let begun = 1; begun <= 3; begun += 1) {
      await until(() => holds.length === begun)
      expect((await once(edge.port, request('GET /echo'))).status).toBe(200)
      expect([holds.length, edge.server.load().inFlight]).toEqual([begun, 1])
      holds.at(-1)?.()
      expect((await wire.reply()).status).toBe(200)
    }
    wire.end()
    await edge.stop()
  })

  it('are not served in one event loop turn', async () => {
    const edge = await startEdge()
    const wire = await Wire.open(edge.port)
    const { seen, stop } = observeParser(edge, (_request, count) => count())
    wire.send(request('GET /echo').repeat(100))
    for (let i = 0; i < 100; i += 1) expect((await wire.reply()).status).toBe(200)
    stop()
    expect(seen.turns).toBeGreaterThanOrEqual(99)
    wire.end()
    await edge.stop()
  })

  it('are not parsed at once: of thousands in one read the parser gets a few dozen', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const edge = await startEdge({ hold: () => held })
    const { seen, stop } = observeParser(edge, (_request, count) => count())
    const wires = await Promise.all(Array.from({ length: 20 }, () => Wire.open(edge.port)))
    for (const wire of wires) wire.send(request('GET /hold') + TINY.repeat(20_000))
    await until(() => edge.server.load().inFlight === 20)
    const other = await Wire.open(edge.port, '127.0.0.2')
    for (let i = 0; i < 20; i += 1) expect((await other.send(request('GET /echo')).reply()).status).toBe(200)
    stop()
    // 1,024 bytes per connection, and the requests of the other caller.
    expect(seen.all).toBeLessThanOrEqual(20 * 60 + 20)
    release()
    for (const wire of [...wires, other]) wire.end()
    await until(() => edge.server.load().connections === 0)
    expect(edge.server.load()).toMatchObject({ inFlight: 0, verifications: 0 })
    await edge.stop()
  })

  it('are served alternately by address, one connection at a time', async () => {
    const edge = await startEdge()
    const order: string[] = []
    edge.server.listener.prependListener('request', ({ socket }: IncomingMessage) =>
      order.push(socket.remoteAddress ?? ''),
    )
    const many = await Promise.all(Array.from({ length: 20 }, () => Wire.open(edge.port)))
    for (const wire of many) wire.send(request('GET /echo', [`X-Long: ${'x'.repeat(900)}`]).repeat(900))
    await until(() => order.length > 100)
    const few = await Wire.open(edge.port, '127.0.0.2')
    const from = order.length
    few.send(request('GET /echo', [`X-Long: ${'x'.repeat(900)}`]).repeat(40))
    for (let i = 0; i < 40; i += 1) expect((await few.reply('GET', 20_000)).status).toBe(200)
    const since = order.slice(from)
    const own = since.lastIndexOf('127.0.0.2') + 1
    // Each address in turn gets one request and at most two pieces parsed, even with twenty connections against one.
    expect(own).toBeLessThan(40 * 5)
    for (const wire of [...many, few]) wire.end()
    await edge.stop()
  })

  it('are all served in order, for any split of the bytes and any bodies', async () => {
    const edge = await startEdge()
    const wire = await Wire.open(edge.port)
    const texts = Array.from({ length: 60 }, (_, at) => {
      const body = JSON.stringify({ at, filler: 'x'.repeat((at * 397) % 9000) })
      if (at % 3 === 0) return request(`GET /things/${at}`)
      if (at % 3 === 1) return request('POST /echo', [`Content-Length: ${body.length}`], body)
      const chunks = (body.match(/.{1,700}/g) ?? []).map((text) => `${text.length.toString(16)}\r\n${text}\r\n`)
      return request('POST /echo', ['Transfer-Encoding: chunked'], `${chunks.join('')}0\r\n\r\n`)
    })
    const bytes = texts.join('')
    for (let at = 0, step = 1; at < bytes.length; at += step, step = (step * 7) % 5003) {
      wire.send(bytes.slice(at, at + step))
      if (step % 5 === 0) await pause(1)
    }
    for (let at = 0; at < 60; at += 1) {
      const { status, body } = await wire.reply('GET', 20_000)
      expect([status, body.includes(at % 3 === 0 ? `"${at}"` : `"at":${at},`)]).toEqual([200, true])
    }
    wire.end()
    await edge.stop()
  })

  it('wait until the caller has read large earlier responses', async () => {
    const edge = await startEdge()
    const wire = await Wire.open(edge.port)
    wire.socket.pause()
    wire.send(request('GET /large').repeat(3) + request('GET /echo').repeat(100))
    await until(() => edge.observed.length > 0)
    await pause(20)
    wire.socket.resume()
    for (let i = 0; i < 3; i += 1) expect((await wire.reply('GET', 20_000)).body.length).toBe(LARGE_BYTES)
    for (let i = 0; i < 100; i += 1) expect((await wire.reply('GET', 20_000)).status).toBe(200)
    wire.end()
    await edge.stop()
  })

  it('delay further connections of their address while they are open', async () => {
    const edge = await startEdge({ hold: () => new Promise(() => undefined) })
    let pauses = 0
    const first = await Wire.open(edge.port)
    first.send(request('GET /hold').repeat(2))
    await until(() => edge.server.load().inFlight === 1)
    edge.server.listener.once('connection', (socket: Socket) => socket.on('pause', () => (pauses += 1)))
    const beside = await Wire.open(edge.port)
    const isPausedFor = async (): Promise<boolean> => {
      const before = pauses
      expect((await beside.send(request('GET /echo')).reply()).status).toBe(200)
      return pauses > before
    }
    expect(await isPausedFor()).toBe(true)
    first.end()
    for (let i = 0; i < 50 && (await isPausedFor()); i += 1) await pause(100)
    expect(await isPausedFor()).toBe(false)
    beside.end()
    edge.server.listener.closeAllConnections()
  })

  it('may be queued on 64 connections of one address; the next one is closed', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const edge = await startEdge({ hold: () => held })
    const wires = await Promise.all(Array.from({ length: 64 }, () => Wire.open(edge.port)))
    for (const wire of wires) wire.send(request('GET /hold').repeat(2))
    await until(() => edge.server.load().inFlight === 64)
    const beyond = await Wire.open(edge.port)
    expect(await beyond.send(request('GET /hold').repeat(2)).closes(10_000)).toBe(true)
    const other = await Wire.open(edge.port, '127.0.0.2')
    other.send(request('GET /hold').repeat(2))
    await until(() => edge.server.load().inFlight >= 65)
    expect([other.isClosed, wires.some(({ isClosed }) => isClosed)]).toEqual([false, false])
    release()
    for (const wire of [...wires, other]) wire.end()
    await edge.stop()
  })
})

describe('a body in tiny chunks', () => {
  it('is parsed in pieces, over several event loop turns', async () => {
    const edge = await startEdge()
    const { seen, stop } = observeParser(edge, (found, count) => {
      const push = found.push.bind(found)
      // A data listener would start reading before the edge does.
      found.push = (piece) => {
        count()
        return push(piece)
      }
    })
    const wire = await Wire.open(edge.port)
    wire.send(request('POST /echo', ['Transfer-Encoding: chunked']))
    const text = `{"text":"${'x'.repeat(9000)}"}`
    wire.send(`${[...text].map((character) => `1\r\n${character}\r\n`).join('')}0\r\n\r\n`)
    expect((await wire.reply('GET', 20_000)).status).toBe(200)
    stop()
    expect(seen.all).toBeGreaterThan(9000)
    // 4,096 bytes, six for each chunk.
    expect(seen.mostInTurn).toBeLessThan(1400)
    wire.end()
    await edge.stop()
  })
})
