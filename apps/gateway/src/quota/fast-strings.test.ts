import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { RedisQuota } from './redis-quota.ts'

setFlagsFromString('--allow-natives-syntax')
const isFast = runInNewContext('(prototype) => %HasFastProperties(prototype)') as (prototype: object) => boolean

it('the Redis client leaves string methods fast', () => {
  expect(RedisQuota).toBeDefined()
  expect(isFast(String.prototype)).toBe(true)
})
