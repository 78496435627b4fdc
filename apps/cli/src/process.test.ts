import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { sleep, stopSignal } from './process.ts'

describe('stopSignal', () => {
  it.each(['SIGTERM', 'SIGINT'])('aborts at the first %s and leaves the second to the system', (name) => {
    const source = new EventEmitter()
    const signal = stopSignal(source)
    expect(signal.aborted).toBe(false)
    source.emit(name)
    expect(signal.aborted).toBe(true)
    expect(source.listenerCount(name)).toBe(0)
  })
})

describe('sleep', () => {
  it('ends early when the signal aborts, and leaves no timer or listener', async () => {
    const controller = new AbortController()
    const started = performance.now()
    const slept = sleep(60_000, controller.signal)
    controller.abort()
    await slept
    await sleep(60_000, controller.signal)
    expect(performance.now() - started).toBeLessThan(5000)
  })

  it('lasts for the given time', async () => {
    const started = performance.now()
    await sleep(20, new AbortController().signal)
    expect(performance.now() - started).toBeGreaterThanOrEqual(19)
  })
})
