import { agents, operatorKeys, policy } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { readBaseUrl, toTarget } from './url.ts'
import { UsageError } from '../errors.ts'

describe('readBaseUrl', () => {
  it.each([
    ['https://na.example.org', 'https://na.example.org'],
    ['https://na.example.org/', 'https://na.example.org'],
    ['http://127.0.0.1:8443', 'http://127.0.0.1:8443'],
    ['https://host/prefix/', 'https://host/prefix'],
    ['http://[::1]:8443', 'http://[::1]:8443'],
  ])('reads %s', (given, expected) => {
    expect(readBaseUrl(given)).toBe(expected)
  })

  it.each([
    '',
    'na.example.org',
    'ftp://host',
    'file:///etc/passwd',
    'https://u:p@host',
    'https://host?x=1',
    'https://host#a',
  ])('refuses %s', (given) => {
    expect(() => readBaseUrl(given)).toThrow(UsageError)
  })

  it('does not repeat credentials in the error', () => {
    expect(() => readBaseUrl('https://me:canary@host')).toThrow(/^(?!.*canary)/)
  })
})

describe('toTarget', () => {
  it('encodes each value once on the wire and signs it decoded', () => {
    const target = toTarget(operatorKeys.revoke, { key_id: 'ops/1 +é%41$&' })
    expect(target.encoded).toBe('/admin/operator-keys/ops%2F1%20%2B%C3%A9%2541%24%26/revoke')
    expect(target.path).toBe('/admin/operator-keys/ops/1 +é%41$&/revoke')
  })

  it('encodes the tail of an agent path', () => {
    expect(toTarget(agents.find, { node_public_key: 'a/b+c=' }).encoded).toBe('/agents/a%2Fb%2Bc%3D')
  })

  it('leaves out undefined query values and keeps the order', () => {
    const target = toTarget(policy.history, {}, { limit: 10, offset: undefined, cursor: 'a b&c' })
    expect(target.encoded).toBe('/admin/policy/history?limit=10&cursor=a%20b%26c')
    expect(target.query).toEqual({ limit: ['10'], cursor: ['a b&c'] })
  })

  it.each(['', '.', '..', '\ud800'])('refuses a value that would reach another route: %j', (key_id) => {
    expect(() => toTarget(operatorKeys.revoke, { key_id })).toThrow(UsageError)
  })

  it('refuses a missing value and never reads the prototype', () => {
    expect(() => toTarget(operatorKeys.revoke, {})).toThrow('key_id is required')
  })
})
