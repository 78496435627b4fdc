import { describe, expect, it } from 'vitest'
import { type Step, andThen, runSteps, withFinally } from './steps.ts'

describe('andThen', () => {
  it('calls next immediately for a value', () => {
    expect(andThen(2, (value) => value + 1)).toBe(3)
  })

  it('calls next when a promise resolves, and not when it rejects', async () => {
    await expect(andThen(Promise.resolve(2), (value) => value + 1)).resolves.toBe(3)
    let isCalled = false
    const broken = andThen(Promise.reject(new Error('no')), () => {
      isCalled = true
    })
    await expect(broken).rejects.toThrow('no')
    expect(isCalled).toBe(false)
  })
})

describe('withFinally', () => {
  const fail = (): never => {
    throw new Error('no')
  }

  it.each([
    ['a value', () => 1],
    ['a promise', async () => 1],
  ])('calls end once after %s, and returns it', async (_name, work) => {
    let ended = 0
    expect(await withFinally<number>(work, () => (ended += 1))).toBe(1)
    expect(ended).toBe(1)
  })

  it('calls end once after a failure, and passes the failure on', async () => {
    let ended = 0
    expect(() => withFinally(fail, () => (ended += 1))).toThrow('no')
    await expect(
      withFinally(
        async () => fail(),
        () => (ended += 1),
      ),
    ).rejects.toThrow('no')
    expect(ended).toBe(2)
  })

  it('does not call end before the work is complete', async () => {
    let isEnded = false
    const work = Promise.withResolvers<void>()
    const all = withFinally(
      () => work.promise,
      () => {
        isEnded = true
      },
    )
    await Promise.resolve()
    expect(isEnded).toBe(false)
    work.resolve()
    await all
    expect(isEnded).toBe(true)
  })
})

describe('runSteps', () => {
  const start = () => ({ result: '', isAnswered: false })
  const add =
    (text: string): Step<ReturnType<typeof start>> =>
    (request) => {
      request.result += text
    }
  const wait: Step<ReturnType<typeof start>> = async (request) => {
    await Promise.resolve()
    request.result += '.'
  }

  it('runs all steps in their order, and returns a value when none waits', async () => {
    expect(runSteps([add('a'), add('b')], start())).toBe('ab')
    expect(await runSteps([add('a'), wait, add('b'), wait, add('c')], start())).toBe('a.b.c')
  })

  it('runs no step after one that refuses', async () => {
    const request = start()
    const fail = (): never => {
      throw new Error('no')
    }
    expect(() => runSteps([add('a'), fail, add('b')], request)).toThrow('no')
    await expect(runSteps([wait, fail, add('b')], request)).rejects.toThrow('no')
    expect(request.result).toBe('a.')
  })

  it('runs no step after the response', async () => {
    const respond: Step<ReturnType<typeof start>> = async (request) => {
      request.isAnswered = true
    }
    expect(await runSteps([add('a'), respond, add('b')], start())).toBe('a')
  })
})
