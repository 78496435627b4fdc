import { expect, it } from 'vitest'
import type { NetworkPolicy } from '../../policy/policy.ts'
import { DocumentCache } from './shared-documents.ts'

const network = { name: 'agency' } as NetworkPolicy
const document = (body: string) => ({ etag: '"a"', body })

it('drops the oldest documents when memory is short', () => {
  const cached = new DocumentCache(10)
  cached.put(network, '/a', document('12345'))
  cached.put(network, '/b', document('12345'))
  cached.put(network, '/a', document('123456'))
  expect(cached.find(network, '/b')).toBeUndefined()
  expect(cached.find(network, '/a')?.body).toBe('123456')
  cached.put(network, '/c', document('1234'))
  expect([cached.find(network, '/a')?.body, cached.find(network, '/c')?.body]).toEqual(['123456', '1234'])
  cached.put(network, '/c', document('12345678901'))
  expect(cached.find(network, '/c')).toBeUndefined()
})

it('finds no document of a network that a reload replaced', () => {
  const cached = new DocumentCache()
  cached.put(network, '/a', document('1'))
  expect(cached.find({ ...network }, '/a')).toBeUndefined()
  expect(cached.find(network, '/b')).toBeUndefined()
})
