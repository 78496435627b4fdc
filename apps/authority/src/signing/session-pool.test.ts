import { currentBackend } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { SessionPool } from './session-pool.ts'

const message = new Uint8Array([1])

describe.runIf(currentBackend() === 'sqlite')('sessions of a token that does not respond', () => {
  it('time out, also for queued callers, and work again when the token responds', async () => {
    const stored: ((signature: Uint8Array) => void)[] = []
    const session = {
      sign: () => new Promise<Uint8Array>((resolve) => stored.push(resolve)),
      close: () => undefined,
    }
    const pool = new SessionPool(() => session, session, 2, 0.05)
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => pool.sign(message)))
    expect(outcomes.map((one) => one.status === 'rejected' && String(one.reason))).toEqual([
      'Error: the token did not sign in time',
      'Error: the token did not sign in time',
      'TokenBusyError: the token has no free session',
      'TokenBusyError: the token has no free session',
      'TokenBusyError: the token has no free session',
    ])
    for (const finish of stored.splice(0)) finish(new Uint8Array(64))
    await new Promise((resolve) => setTimeout(resolve, 10))
    const after = [pool.sign(message), pool.sign(message)]
    await new Promise((resolve) => setTimeout(resolve, 10))
    for (const finish of stored.splice(0)) finish(new Uint8Array(64).fill(7))
    expect(await Promise.all(after)).toEqual([new Uint8Array(64).fill(7), new Uint8Array(64).fill(7)])
  })
})
