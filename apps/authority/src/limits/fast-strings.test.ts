import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { openRedisCounts } from './redis-counts.ts'

setFlagsFromString('--allow-natives-syntax')
const isFast = runInNewContext('(prototype) => %HasFastProperties(prototype)') as (prototype: object) => boolean

it('the Redis client leaves string methods fast', async () => {
  // Nothing listens there; the client is loaded before it connects.
  const counts = await openRedisCounts('redis://127.0.0.1:1', 'unused')
  await counts.close()
  expect(isFast(String.prototype)).toBe(true)
})
