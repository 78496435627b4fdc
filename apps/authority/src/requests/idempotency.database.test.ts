import { type TestAuthority, currentBackend, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findStoredResponse, storeResponse, purgeStoredResponses } from './idempotency.ts'
import type { Attempt, StoredResponse } from './idempotency.ts'

const NOW = '2026-01-02T03:04:05.000000Z'
const END = '2026-01-03T03:04:05.000000Z'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

let counter = 0
function newAttempt(changes: Partial<Attempt> = {}): Attempt {
  counter += 1
  return { scope: 'op POST /x', key: `key-${counter}`, bodyDigest: 'digest', expires_at: END, ...changes }
}
const ANSWER: StoredResponse = { status: 200, text: '{"a":1}' }
const find = (attempt: Attempt, now = NOW): Promise<StoredResponse | undefined> =>
  na.core.database.write((tx) => findStoredResponse(tx, attempt, now))
const run = (attempt: Attempt, answer: StoredResponse | undefined = ANSWER): Promise<void> =>
  na.core.database.write(async (tx) => {
    await findStoredResponse(tx, attempt, NOW)
    if (answer !== undefined) await storeResponse(tx, attempt, answer)
  })

describe('findStoredResponse', () => {
  it('is undefined the first time, and the stored response afterwards', async () => {
    const attempt = newAttempt()
    await run(attempt)
    expect(await find(attempt)).toEqual(ANSWER)
    expect(await find(attempt, '2026-01-03T03:04:04.999999Z')).toEqual(ANSWER)
  })

  it('refuses another body, and a repeat whose response contained a secret', async () => {
    const [attempt, secret] = [newAttempt(), newAttempt()]
    await run(attempt)
    await expect(find({ ...attempt, bodyDigest: 'other' })).rejects.toMatchObject({ code: 'conflict' })
    await na.core.database.write(async (tx) => void (await findStoredResponse(tx, secret, NOW)))
    await expect(find(secret)).rejects.toMatchObject({ code: 'conflict' })
  })

  it('separates scopes', async () => {
    const attempt = newAttempt()
    await run(attempt)
    expect(await find({ ...attempt, scope: 'other POST /x' })).toBeUndefined()
    expect(await find({ ...attempt, scope: 'op POST /y' })).toBeUndefined()
  })

  it('is deleted after a day', async () => {
    const attempt = newAttempt()
    await run(attempt)
    expect(await find({ ...attempt, bodyDigest: 'other' }, END)).toBeUndefined()
  })

  it('is not stored when the effect was rolled back', async () => {
    const attempt = newAttempt()
    const broken = na.core.database.write(async (tx) => {
      await findStoredResponse(tx, attempt, NOW)
      await storeResponse(tx, attempt, ANSWER)
      throw new Error('the effect failed')
    })
    await expect(broken).rejects.toThrow('the effect failed')
    expect(await find(attempt)).toBeUndefined()
  })

  it('waits for the same attempt that is still running, and returns its response', async () => {
    const attempt = newAttempt()
    let finish = (): void => undefined
    const started = Promise.withResolvers<void>()
    const first = na.core.database.write(async (tx) => {
      expect(await findStoredResponse(tx, attempt, NOW)).toBeUndefined()
      const gate = new Promise<void>((resolve) => (finish = resolve))
      started.resolve()
      // SQLite has one connection here, so no other caller could read in the meantime.
      if (currentBackend() === 'postgres') await gate
      await storeResponse(tx, attempt, ANSWER)
    })
    await started.promise
    let isAnswered = false
    const second = find(attempt).finally(() => {
      isAnswered = true
    })
    if (currentBackend() === 'postgres') {
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(isAnswered).toBe(false)
    }
    finish()
    await first
    expect(await second).toEqual(ANSWER)
  })
})

describe('purgeStoredResponses', () => {
  it('removes expired attempts and nothing else', async () => {
    const [old, young] = [newAttempt({ expires_at: NOW }), newAttempt({ expires_at: END })]
    await run(old)
    await run(young)
    await purgeStoredResponses(na.core.database, NOW, new AbortController().signal)
    const rows = await na.core.database.read.selectFrom('idempotency_keys').select('idempotency_key').execute()
    const keys = rows.map((row) => row.idempotency_key)
    expect(keys).not.toContain(old.key)
    expect(keys).toContain(young.key)
  })
})
