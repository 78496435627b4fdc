import { describe, expect, it } from 'vitest'
import { presentedCertificate } from '../artifacts/join-certificate.ts'
import { FormError } from '../reading/schema.ts'
import { isWithinLimits } from './presented-certificate.ts'
import { CERTIFICATE } from './worked-records.suite.ts'

describe('presentedCertificate', () => {
  it('fills in what may be left out', () => {
    const { roles: _roles, signatures: _signatures, ...rest } = CERTIFICATE
    expect(presentedCertificate(rest, '')).toEqual({ ...rest, roles: [], signatures: [] })
  })

  it.each([
    ['an unknown member', { ...CERTIFICATE, extra: 1 }, 'extra'],
    [
      'an unknown member of a signature',
      { ...CERTIFICATE, signatures: [{ key_id: 'a', sig: 'b', c: 1 }] },
      'signatures[0].c',
    ],
    ['a missing member', { ...CERTIFICATE, cert_id: undefined }, 'cert_id'],
    ['a number for a text', { ...CERTIFICATE, issued_at: 5 }, 'issued_at'],
    ['null for a list', { ...CERTIFICATE, roles: null }, 'roles'],
  ])('refuses %s and names it', (_name, value, field) => {
    const given = JSON.parse(JSON.stringify(value)) as never
    expect(() => presentedCertificate(given, '')).toThrow(FormError)
    expect(() => presentedCertificate(given, '')).toThrow(field)
  })
})

describe('isWithinLimits', () => {
  const [signature] = CERTIFICATE.signatures
  const many = (count: number) => Array.from({ length: count }, () => ({ key_id: 'k', sig: signature?.sig ?? '' }))
  it.each([
    ['the worked example', {}, true],
    ['an id of 256 bytes', { cert_id: 'é'.repeat(128) }, true],
    ['an id of 258 bytes', { cert_id: 'é'.repeat(129) }, false],
    ['an empty id', { cert_id: '' }, false],
    ['an empty network', { network_name: '' }, false],
    ['an issuer of 257 bytes', { issued_by: 'x'.repeat(257) }, false],
    ['32 roles', { roles: Array.from({ length: 32 }, (_, n) => `r${n}`) }, true],
    ['33 roles', { roles: Array.from({ length: 33 }, (_, n) => `r${n}`) }, false],
    ['a role of 129 bytes', { roles: ['r'.repeat(129)] }, false],
    ['eight signatures', { signatures: many(8) }, true],
    ['nine signatures', { signatures: many(9) }, false],
    ['a signature of 87 characters', { signatures: [{ key_id: 'k', sig: 'A'.repeat(87) }] }, false],
    ['a signature of 89 characters', { signatures: [{ key_id: 'k', sig: 'A'.repeat(89) }] }, false],
    ['a key id of 257 bytes', { signatures: [{ key_id: 'k'.repeat(257), sig: 'A'.repeat(88) }] }, false],
  ])('%s: %s', (_name, over, expected) => {
    expect(isWithinLimits({ ...CERTIFICATE, ...over })).toBe(expected)
  })
})
