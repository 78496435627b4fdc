import { rootCertificates } from 'node:tls'
import { expect, it } from 'vitest'
import { contextWith } from './call-url.ts'

// Holds: root certificates are parsed once for each list of them, and another list is another set of roots. The calls
// themselves are in the tests of the gateway.

const [first = '', second = ''] = rootCertificates

it('parses the roots of one list once', () => {
  expect(contextWith([first])).toBe(contextWith([first]))
})

it('never takes the roots of one list for another', () => {
  const lists = [[first], [second], [first, second]]
  expect(new Set(lists.map(contextWith)).size).toBe(3)
})

it('keeps few lists', () => {
  const kept = contextWith([first])
  for (let n = 0; n < 8; n += 1) contextWith([first, ...Array.from({ length: n + 1 }, () => second)])
  expect(contextWith([first])).not.toBe(kept)
})
