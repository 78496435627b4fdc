import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { SerialQueue } from './serial-queue.ts'

describe('turns', () => {
  it('runs tasks one at a time, in order', async () => {
    const turns = new SerialQueue()
    const log: string[] = []
    const work = (name: string, ms: number) => async () => {
      log.push(`${name} begins`)
      await pause(ms)
      log.push(`${name} ends`)
      return name
    }
    const results = await Promise.all([turns.take(work('a', 20)), turns.take(work('b', 1)), turns.take(work('c', 1))])
    expect(results).toEqual(['a', 'b', 'c'])
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  })

  it('continues after a failure, which only its own caller receives', async () => {
    const turns = new SerialQueue()
    const failed = turns.take(() => Promise.reject(new Error('no')))
    const next = turns.take(() => Promise.resolve('yes'))
    await expect(failed).rejects.toThrow('no')
    expect(await next).toBe('yes')
  })
})
