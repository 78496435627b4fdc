import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sleep } from './sleep.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('sleep', () => {
  it('waits for the given time', async () => {
    const done = vi.fn()
    void sleep(1000, new AbortController().signal).then(done)
    await vi.advanceTimersByTimeAsync(999)
    expect(done).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(done).toHaveBeenCalledOnce()
  })

  it('returns immediately when aborted, before or during the wait, and leaves no timer', async () => {
    const stopping = new AbortController()
    const during = sleep(1000, stopping.signal)
    stopping.abort()
    await during
    await sleep(1000, stopping.signal)
    expect(vi.getTimerCount()).toBe(0)
  })
})
