import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { Thread, ThreadEndedError, ThreadError } from './thread.ts'

const opened: Thread[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((thread) => thread.close()))
})

function open(limitMs?: number): Thread {
  const options = limitMs === undefined ? {} : { limitMs }
  const thread = new Thread('./thread-operations.suite', import.meta.url, options)
  opened.push(thread)
  return thread
}

describe('a thread', () => {
  it('returns results and failures of its operations', async () => {
    const thread = open()
    expect(await thread.call('echo', { a: [1] })).toEqual({ a: [1] })
    await expect(thread.call('fail', undefined)).rejects.toMatchObject({ kind: 'RangeError', message: 'of the test' })
    await expect(thread.call('none', undefined)).rejects.toBeInstanceOf(ThreadError)
  })

  it('rejects an argument that cannot be copied, and goes on', async () => {
    const thread = open(60_000)
    await expect(thread.call('echo', () => undefined)).rejects.toThrow(/could not be cloned/)
    expect(await thread.call('echo', 2)).toBe(2)
  })

  it('lets the process end after a call that could not be sent', async () => {
    const file = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)
    const script = `
      import { Thread } from ${file('thread.ts')}
      const thread = new Thread('./thread-operations.suite', ${file('thread.test.ts')}, { limitMs: 600000 })
      await thread.call('echo', () => undefined).catch((error) => console.log(error.name))`
    const args = ['--conditions=development', '--input-type=module', '--eval', script]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 })
    expect(stdout).toBe('DataCloneError\n')
  })

  it('is ended when a call takes longer than the limit, and all its calls fail', async () => {
    const thread = open(300)
    const calls = [thread.call('hang', undefined), thread.call('echo', 1)]
    const results = await Promise.allSettled(calls)
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await expect(calls[0]).rejects.toThrow('the thread did not finish in time and was ended')
    expect(thread.hasEnded).toBe(true)
    await expect(thread.call('echo', 1)).rejects.toBeInstanceOf(ThreadEndedError)
  })
})
