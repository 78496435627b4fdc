import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ProcessEvent, type RunningService, type ServiceOptions, runService } from './lifecycle.ts'
import { createLog } from '../log/log.ts'
import { StartError } from '../settings/start-error.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

class FakeProcess {
  readonly listeners = new Map<ProcessEvent, (reason: unknown) => void>()
  readonly #note: (step: string) => void

  constructor(note: (step: string) => void) {
    this.#note = note
  }

  on(event: ProcessEvent, listener: (reason: unknown) => void): void {
    this.listeners.set(event, listener)
  }

  exit(code: number): void {
    this.#note(`exit ${code}`)
  }

  send(event: ProcessEvent, reason?: unknown): void {
    this.listeners.get(event)?.(reason)
  }
}

/** Every step with its second. */
async function start(service: Partial<RunningService> = {}, options: Partial<ServiceOptions> = {}) {
  const steps: string[] = []
  const began = Date.now()
  const note = (step: string): void => void steps.push(`${(Date.now() - began) / 1000} ${step}`)
  const process = new FakeProcess(note)
  const events: string[] = []
  const destination = {
    write: (line: string) => events.push(line.slice(28).split('\n')[0] ?? ''),
    flushSync: () => note('flush'),
  }
  const log = createLog({ level: 'info', format: 'text', destination })
  const running: RunningService = {
    turnNotReady: () => note('not ready'),
    stopAccepting: async () => note('stop accepting'),
    close: async () => note('close'),
    ...service,
  }
  const code = runService({ log, start: async () => running, drainSeconds: 5, process, ...options })
  await vi.advanceTimersByTimeAsync(0)
  return { process, steps, events, code, withoutFlushes: () => steps.filter((step) => !step.endsWith('flush')) }
}

const seconds = (count: number): Promise<unknown> => vi.advanceTimersByTimeAsync(count * 1000)
const never = (): Promise<void> => new Promise(() => {})

describe('a signal', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    '%s: not ready immediately, drained, finished, closed, flushed, exit code 0',
    async (signal) => {
      const { process, steps, code } = await start()
      process.send(signal)
      await seconds(60)
      expect(steps).toEqual(['0 not ready', '5 stop accepting', '5 close', '5 flush', '5 exit 0'])
      expect(await code).toBe(0)
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  it('does not drain when the drain time is 0', async () => {
    const { process, withoutFlushes } = await start({}, { drainSeconds: 0 })
    process.send('SIGTERM')
    await seconds(60)
    expect(withoutFlushes()).toEqual(['0 not ready', '0 stop accepting', '0 close', '0 exit 0'])
  })

  it('gives open requests 25 s after the drain, then exits with 1', async () => {
    const { process, withoutFlushes, events } = await start({ stopAccepting: never })
    process.send('SIGTERM')
    await seconds(60)
    expect(withoutFlushes()).toEqual(['0 not ready', '30 exit 1'])
    expect(events.at(-1)).toBe('ERROR did not finish in time limit_seconds=25')
  })

  it('applies the time limit to closing too', async () => {
    const { process, withoutFlushes } = await start({ close: never }, { finishSeconds: 10 })
    process.send('SIGTERM')
    await seconds(60)
    expect(withoutFlushes()).toEqual(['0 not ready', '5 stop accepting', '15 exit 1'])
  })

  it.each(['stopAccepting', 'close'] as const)('exits 1 when %s fails', async (step) => {
    const { process, code, events } = await start({ [step]: async () => Promise.reject(new Error('stuck')) })
    process.send('SIGTERM')
    await seconds(10)
    expect(await code).toBe(1)
    expect(events.at(-1)).toMatch(/^ERROR stopping failed error=Error message=stuck/)
  })

  it('still stops when the service cannot be marked as not ready', async () => {
    const { process, code } = await start({
      turnNotReady: () => {
        throw new Error('odd')
      },
    })
    process.send('SIGTERM')
    await seconds(10)
    expect(await code).toBe(0)
  })

  it.each([
    ['while draining', 2, ['0 not ready', '2 exit 1']],
    ['while finishing', 8, ['0 not ready', '8 exit 1']],
  ])('a second one exits immediately with 1, %s', async (_name, after, expected) => {
    const { process, withoutFlushes } = await start({ stopAccepting: never })
    process.send('SIGTERM')
    await seconds(after)
    process.send('SIGINT')
    await seconds(60)
    expect(withoutFlushes()).toEqual(expected)
  })
})

describe('a signal during the start', () => {
  it('waits for the start, then stops without a drain', async () => {
    const starting = Promise.withResolvers<void>()
    const steps: string[] = []
    const service: RunningService = {
      turnNotReady: () => void steps.push('not ready'),
      stopAccepting: async () => void steps.push('stop accepting'),
      close: async () => void steps.push('close'),
    }
    const { process, code } = await start({}, { start: () => starting.promise.then(() => service) })
    process.send('SIGTERM')
    await seconds(10)
    expect(steps).toEqual([])
    starting.resolve()
    await seconds(0)
    expect(steps).toEqual(['not ready', 'stop accepting', 'close'])
    expect(await code).toBe(0)
  })

  it('ends a start that waits for something else, with 0', async () => {
    const waits = (stopped: AbortSignal): Promise<RunningService> =>
      new Promise((_resolve, reject) => {
        stopped.addEventListener('abort', () => reject(stopped.reason as Error))
      })
    const { process, withoutFlushes, events } = await start({}, { start: waits })
    process.send('SIGTERM')
    await seconds(0)
    expect([withoutFlushes(), events.at(-1)]).toEqual([['0 exit 0'], 'INFO  stopped'])
  })

  it('waits 25 s for a start that hangs', async () => {
    const { process, withoutFlushes } = await start({}, { start: () => new Promise(() => {}) })
    process.send('SIGTERM')
    await seconds(60)
    expect(withoutFlushes()).toEqual(['25 exit 1'])
  })
})

describe('a failed start', () => {
  it('is logged and exits 1', async () => {
    const { code, events, steps } = await start({}, { start: () => Promise.reject(new RangeError('no such file')) })
    expect(await code).toBe(1)
    expect(events[0]).toMatch(/^FATAL start failed error=RangeError message="no such file"/)
    expect(steps.at(-1)).toBe('0 exit 1')
  })

  it.each([
    ['a setting', new StartError('PORT: wrong'), 78],
    ['something that may come', new StartError('PORT: in use', { isTemporary: true }), 1],
  ])('because of %s exits with %s', async (_cause, error, expected) => {
    const { code } = await start({}, { start: () => Promise.reject(error) })
    expect(await code).toBe(expected)
  })
})

describe('an uncaught error', () => {
  it.each(['uncaughtException', 'unhandledRejection'] as const)(
    '%s: logged, not ready, finished, exit code 1',
    async (event) => {
      const { process, withoutFlushes, events } = await start()
      process.send(event, new TypeError('odd'))
      await seconds(60)
      expect(withoutFlushes()).toEqual(['0 not ready', '0 stop accepting', '0 close', '0 exit 1'])
      expect(events[0]).toMatch(/^FATAL (uncaught exception|unhandled rejection) error=TypeError message=odd/)
    },
  )

  it('gives open requests at most 5 s', async () => {
    const { process, withoutFlushes } = await start({ stopAccepting: never })
    process.send('uncaughtException', 'text')
    process.send('uncaughtException', 'again')
    await seconds(3)
    process.send('unhandledRejection', undefined)
    await seconds(60)
    expect(withoutFlushes()).toEqual(['0 not ready', '5 exit 1'])
  })

  it('ends a drain early', async () => {
    const { process, withoutFlushes } = await start()
    process.send('SIGTERM')
    await seconds(2)
    process.send('unhandledRejection', new Error('odd'))
    await seconds(60)
    expect(withoutFlushes()).toEqual(['0 not ready', '2 not ready', '2 stop accepting', '2 close', '2 exit 1'])
  })

  it('is not ended early by the first signal, but by the second', async () => {
    const { process, withoutFlushes } = await start({ stopAccepting: never })
    process.send('uncaughtException', new Error('odd'))
    process.send('SIGTERM')
    await seconds(1)
    expect(withoutFlushes()).toEqual(['0 not ready'])
    process.send('SIGTERM')
    expect(withoutFlushes()).toEqual(['0 not ready', '1 exit 1'])
  })

  it('during the start exits with 1 immediately', async () => {
    const { process, withoutFlushes } = await start({}, { start: () => new Promise(() => {}) })
    process.send('uncaughtException', new Error('odd'))
    expect(withoutFlushes()).toEqual(['0 exit 1'])
  })
})
