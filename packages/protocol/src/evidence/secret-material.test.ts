import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../canonical/utf8.ts'
import { MAX_METADATA_BYTES, hasSecretMaterial } from './secret-material.ts'

describe('holdsSecretMaterial', () => {
  it.each<[string, JsonObject, string | null]>([
    ['the name of a secret', { password: 'x' }, null],
    ['in capitals and dashes', { 'Api-Key': 1 }, null],
    ['with dots', { 'connection.string': null }, null],
    ['deep in a list', { a: [{ b: { token: 'x' } }] }, null],
    ['a PEM block', { note: 'see -----BEGIN PRIVATE' }, null],
    ['120 opaque characters', { note: 'a'.repeat(120) }, null],
    ['a signed token', { list: ['eyJhbGciOi.eyJzdWIi.c2ln'] }, null],
    ['a token without its last part', { list: ['eyJhbGciOi.eyJzdWIi.'] }, null],
    ['a PEM block in the detail', {}, '-----BEGIN X'],
    ['an opaque detail', {}, 'A0+/=_-'.repeat(20)],
  ])('finds %s', (_name, parameters, detail) => {
    expect(hasSecretMaterial(parameters, detail)).toBe(true)
  })

  it.each<[string, JsonObject, string | null]>([
    ['nothing', {}, null],
    ['names that only contain one', { secret_version: '7', values: [1], tokens: 2 }, null],
    ['119 opaque characters', { note: 'a'.repeat(119) }, null],
    ['words', { note: 'a '.repeat(80) }, null],
    ['a detail that begins like a token', {}, 'eyJ is not a token'],
    ['a name in the detail', {}, 'password'],
  ])('lets pass %s', (_name, parameters, detail) => {
    expect(hasSecretMaterial(parameters, detail)).toBe(false)
  })

  it('counts the bytes of the compact text, characters as they are', () => {
    // {"execution_parameters":{"note":"…"},"outcome_detail":null}
    const room = MAX_METADATA_BYTES - '{"execution_parameters":{"note":""},"outcome_detail":null}'.length
    const words = (bytes: number): string => 'word '.repeat(bytes).slice(0, bytes)
    expect(hasSecretMaterial({ note: words(room) }, null)).toBe(false)
    expect(hasSecretMaterial({ note: words(room + 1) }, null)).toBe(true)
    // Two bytes each in UTF-8, six when escaped.
    expect(hasSecretMaterial({ note: 'ü '.repeat(Math.floor(room / 3)) }, null)).toBe(false)
    expect(hasSecretMaterial({ note: 'ü '.repeat(Math.floor(room / 3) + 1) }, null)).toBe(true)
    // A written escape is a backslash and five characters: seven bytes in the text.
    expect(hasSecretMaterial({ note: '\\u00fc '.repeat(Math.floor(room / 8)) }, null)).toBe(false)
    expect(hasSecretMaterial({ note: '\\u00fc '.repeat(Math.floor(room / 8) + 1) }, null)).toBe(true)
  })
})
