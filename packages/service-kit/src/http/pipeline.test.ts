import { request as httpRequest } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type RouteFacts, SERVER_LIMITS, route } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Edge, TABLE, Wire, expectRefused, request, startEdge } from './test-edge.suite.ts'
import type { Binding, Guard } from './call.ts'

const facts: RouteFacts = {
  access: 'public',
  limit: 'verify',
  stability: 'internal',
  success: 200,
  response: 'json',
  summary: 'Test',
  purpose: 'Test.',
}
const SMALL = '{"n":1}'
const LARGE = `{"text":"${'a'.repeat(SERVER_LIMITS.queuedVerificationBytes)}"}`
/** As many as remain for others. */
const SHARE = SERVER_LIMITS.verificationsInFlight / 2

let edge: Edge | undefined
afterEach(async () => {
  await edge?.stop()
  edge = undefined
})

/** A verify route whose handler waits until it is released, and counts. */
async function startVerifying(
  options: Parameters<typeof startEdge>[0] = {},
): Promise<{ port: number; release: () => void; begun: () => number }> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let begun = 0
  const verify: Binding = {
    route: route('POST /verify', facts),
    handle: async () => {
      begun += 1
      await promise
      return {}
    },
  }
  edge = await startEdge({ bindings: [...TABLE, verify], ...options })
  return { port: edge.port, release: resolve, begun: () => begun }
}

interface Sent {
  readonly status: Promise<number>
  leave(): void
}

function post(port: number, body: string, from = '127.0.0.1', path = '/verify'): Sent {
  const { promise, resolve } = Promise.withResolvers<number>()
  const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length }
  const sent = httpRequest(
    { host: '127.0.0.1', port, path, method: 'POST', headers, localAddress: from, agent: false },
    (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    },
  )
  sent.on('error', () => resolve(0))
  sent.end(body)
  return { status: promise, leave: () => sent.destroy() }
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 2000 && !isTrue(); i += 1) await pause(5)
  expect(isTrue()).toBe(true)
}

describe('verify routes', () => {
  it('give one address a part of their slots, and use no slots of other routes', async () => {
    const { port, release, begun } = await startVerifying()
    const held = Array.from({ length: SHARE }, () => post(port, SMALL))
    await until(() => begun() === SHARE)
    expect(await post(port, SMALL).status).toBe(503)
    expect(await post(port, SMALL, '127.0.0.1', '/echo').status).toBe(200)
    const other = post(port, SMALL, '127.0.0.2')
    await until(() => begun() === SHARE + 1)
    release()
    expect(await other.status).toBe(200)
    expect(new Set(await Promise.all(held.map(({ status }) => status)))).toEqual(new Set([200]))
    expect(await post(port, SMALL).status).toBe(200)
  })

  it('verify one large body of an address at a time, concurrently with those of other addresses', async () => {
    const { port, release, begun } = await startVerifying()
    const held = Array.from({ length: 5 }, () => post(port, LARGE))
    await until(() => begun() === 1)
    const small = post(port, SMALL)
    const other = post(port, LARGE, '127.0.0.2')
    await until(() => begun() === 3)
    await pause(50)
    expect(begun()).toBe(3)
    release()
    expect(await Promise.all([...held, small, other].map(({ status }) => status))).toEqual(Array(7).fill(200))
  })

  it('do not start for a caller that has gone, and release its slot', async () => {
    const { port, release, begun } = await startVerifying()
    const first = post(port, LARGE)
    await until(() => begun() === 1)
    const gone = Array.from({ length: SHARE - 1 }, () => post(port, LARGE))
    const inFlight = (): number | undefined => edge?.server.load().inFlight
    await until(() => inFlight() === SHARE)
    expect(await post(port, LARGE).status).toBe(503)
    for (const { leave } of gone) leave()
    await until(() => inFlight() === 1)
    const last = post(port, LARGE)
    await until(() => inFlight() === 2)
    release()
    expect(await first.status).toBe(200)
    expect(await last.status).toBe(200)
    expect(begun()).toBe(2)
  })

  it('do not start for a caller that has gone during the limiter check', async () => {
    const { promise: asked, resolve: answer } = Promise.withResolvers<undefined>()
    let judged = 0
    const guard: Guard = {
      limit: (call) => (call.remoteAddress === '127.0.0.2' ? asked : undefined),
      screen: () => undefined,
      authorize: async (call) => {
        judged += 1
        return call
      },
    }
    const { port, release, begun } = await startVerifying({ guard })
    release()
    const gone = post(port, LARGE, '127.0.0.2')
    await until(() => edge?.server.load().verifications === 1)
    gone.leave()
    await until(() => edge?.server.load().connections === 0)
    answer(undefined)
    await until(() => edge?.server.load().verifications === 0)
    expect(await post(port, LARGE).status).toBe(200)
    expect([judged, begun()]).toEqual([1, 1])
  })
})

describe('revocations', () => {
  it('have separate slots, which other calls of the address and the verify routes cannot use up', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let begun = 0
    const waiting = async (): Promise<JsonObject> => {
      begun += 1
      await promise
      return {}
    }
    const operator: RouteFacts = { ...facts, access: 'operator:privileged', limit: 'admin' }
    edge = await startEdge({
      bindings: [
        ...TABLE,
        { route: route('POST /work', operator), handle: waiting },
        { route: route('POST /revoke', { ...operator, reserve: 'revocation' }), handle: () => ({}) },
      ],
    })
    const { port } = edge
    const share = SERVER_LIMITS.inFlightRequests / 2
    const held = Array.from({ length: share }, () => post(port, SMALL, '127.0.0.1', '/work'))
    await until(() => begun === share)
    expect(await post(port, SMALL, '127.0.0.1', '/work').status).toBe(503)
    expect(await post(port, SMALL, '127.0.0.1', '/revoke').status).toBe(200)
    resolve()
    expect(new Set(await Promise.all(held.map(({ status }) => status)))).toEqual(new Set([200]))
  })
})

describe('a check of the guard that does not end', () => {
  afterEach(() => void vi.useRealTimers())

  it.for(['limit', 'authorize'] as const)('%s: the response is 503 at the deadline', async (stage) => {
    const { promise: called, resolve: call } = Promise.withResolvers<void>()
    const hang = (): Promise<never> => {
      call()
      return new Promise(() => undefined)
    }
    const passing = { limit: () => undefined, screen: () => undefined, authorize: async (each: never) => each }
    const edge = await startEdge({ guard: { ...passing, [stage]: hang } })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const caller = await Wire.open(edge.port)
    caller.send(request('GET /echo'))
    await called
    vi.advanceTimersByTime(SERVER_LIMITS.handlerDeadlineSeconds * 1000)
    const reply = await caller.reply()
    expectRefused(reply, 503, 'service_unavailable')
    expect(reply.body).toContain('"reason":"deadline"')
    vi.useRealTimers()
    await edge.stop()
  })
})
