import { SERVER_LIMITS } from '@chancery/contract'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Wire, expectRefused, request, startEdge } from './test-edge.suite.ts'

// reliability 14: header time 10 s, keep-alive 5 s, checked every 5 s. One wait covers all of them.
describe('slow callers', () => {
  it('receive 408 in the envelope when their head does not arrive; idle connections are closed', async () => {
    const edge = await startEdge()
    const started = performance.now()
    const slow = await Wire.open(edge.port)
    slow.send('GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow')
    const idle = await Wire.open(edge.port)
    expect((await idle.send(request('GET /healthz')).reply()).status).toBe(200)

    expect(await idle.closes(9000)).toBe(true)
    expect(performance.now() - started).toBeGreaterThan(4000)
    expect(slow.isClosed).toBe(false)

    expectRefused(await slow.reply('GET', 12_000), 408, 'request_timeout')
    expect(performance.now() - started).toBeGreaterThan(9000)
    expect(await slow.closes()).toBe(true)
    await edge.stop()
  }, 30_000)
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
