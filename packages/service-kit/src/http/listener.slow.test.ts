import { describe, expect, it } from 'vitest'
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
