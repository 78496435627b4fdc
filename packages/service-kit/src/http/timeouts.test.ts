import { SERVER_LIMITS } from '@chancery/contract'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Wire, expectRefused, request, startEdge } from './test-edge.suite.ts'

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
