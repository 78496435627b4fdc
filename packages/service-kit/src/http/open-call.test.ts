import { once } from 'node:events'
import { route } from '@chancery/contract'
import { afterEach, describe, expect, it } from 'vitest'
import type { Call } from './target.ts'
import { type Edge, Wire, request, startEdge } from './test-edge.suite.ts'

let edge: Edge
afterEach(() => edge.stop())

const WORK = route('GET /work', {
  access: 'public',
  limit: 'public',
  stability: 'internal',
  success: 200,
  response: 'json',
  summary: 'Work',
  purpose: 'Works.',
})

/** Begins a call whose handler waits for `work`. */
async function begin(work: Promise<void>): Promise<{ readonly caller: Wire; readonly call: Call }> {
  const { promise, resolve } = Promise.withResolvers<Call>()
  const handle = (call: Call): Promise<{ readonly done: true }> => {
    resolve(call)
    return work.then(() => ({ done: true }))
  }
  edge = await startEdge({ bindings: [{ route: WORK, handle }] })
  const caller = await Wire.open(edge.port)
  caller.send(request('GET /work'))
  return { caller, call: await promise }
}

describe('the signal of a call', () => {
  it('ends when the caller leaves', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { caller, call } = await begin(promise)
    expect(call.signal.aborted).toBe(false)
    caller.socket.destroy()
    await once(call.signal, 'abort')
    resolve()
  })

  it('ends with the response, also on a connection that stays open', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { caller, call } = await begin(promise)
    const ended = once(call.signal, 'abort')
    resolve()
    expect((await caller.reply()).status).toBe(200)
    await ended
    expect(caller.isClosed).toBe(false)
    caller.socket.destroy()
  })

  it('has ended when it is first read after the response', async () => {
    const { caller, call } = await begin(Promise.resolve())
    expect((await caller.reply()).status).toBe(200)
    await expect.poll(() => call.signal.aborted).toBe(true)
    caller.socket.destroy()
  })
})
