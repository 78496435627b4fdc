import { beforeAll, describe, expect, it } from 'vitest'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { toBase64 } from '../canonical/base64.ts'
import { type JsonObject, type JsonValue, toUtf8 } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { FormError } from '../reading/schema.ts'
import { boolean, integer, object, string } from '../reading/shape.ts'
import { identifier, instantOf, label, timestamp } from '../reading/text.ts'
import {
  closedPart,
  listOf,
  omit,
  orNull,
  signedListForm,
  signedOnceForm,
  unsigned,
  unsignedForm,
  yes,
} from '../reading/trust-form.ts'
import type { RecordForm } from '../reading/trust-form.ts'
import { asReceived, readReceived, receivedDigest, signForm, signedProjection, verifyReceived } from './received.ts'
import { type Signer, seedSigner, verifySignature } from './keys.ts'

const window = closedPart(
  { from: yes(timestamp), until: yes(timestamp), grace: yes(integer(0, 10), 0) },
  ({ from, until }) => {
    if (instantOf(from) >= instantOf(until)) throw new FormError('until', 'must be later than from')
  },
)

const passForm = signedOnceForm({
  pass_id: yes(identifier),
  open: yes(boolean),
  note: orNull(string),
  window: yes(window),
  labels: yes(listOf(closedPart({ name: yes(label), extra: omit(string) })), []),
  scope: yes(object, {}),
  lane: omit(closedPart({ code: yes(string), colour: orNull(string) })),
})
const charterForm = signedListForm(
  {
    charter_id: unsigned(identifier),
    parties: yes(listOf(label, { min: 1 })),
    proof: yes(object, {}),
    window: yes(window),
  },
  { only: ['parties', 'proof', 'window'] },
)

const pass = {
  pass_id: 'p-1',
  open: true,
  note: null,
  window: { from: '2030-01-01T00:00:00Z', until: '2030-02-01T00:00:00Z', grace: 1 },
  labels: [{ name: 'north' }],
  scope: { anything: { goes: [1] } },
} as const

let key: Signer
let other: Signer
beforeAll(async () => {
  key = await seedSigner('k', toBase64(new Uint8Array(32).fill(1)))
  other = await seedSigner('o', toBase64(new Uint8Array(32).fill(2)))
})

/** Signs these very members, whatever the form thinks of them. */
async function signedAsIs(body: JsonObject): Promise<JsonObject> {
  return { ...body, signature: { key_id: 'k', sig: toBase64(await key.sign(toUtf8(canonicalJson(body)))) } }
}

async function verdict(value: JsonValue, form: RecordForm<unknown> = passForm): Promise<string> {
  const found = await verifyReceived(readReceived(form, value), [other.publicKey, key.publicKey])
  return found.ok ? 'ok' : found.reason
}

function formError(value: JsonValue, form: RecordForm<unknown> = passForm): string {
  try {
    readReceived(form, value)
    return 'read'
  } catch (error) {
    if (error instanceof FormError) return `${error.field}: ${error.problem}`
    throw error
  }
}

describe('F1: reading', () => {
  it.each<[string, JsonValue, string]>([
    ['a text', 'x', ': an object is needed'],
    ['a null where no null is known', { ...pass, pass_id: null }, 'pass_id: a string is needed'],
    ['a wrong type deep inside', { ...pass, labels: [{ name: 5 }] }, 'labels[0].name: a string is needed'],
    [
      'a broken rule of a part',
      { ...pass, window: { ...pass.window, until: pass.window.from } },
      'until: must be later than from',
    ],
    [
      'a text that is no instant',
      { ...pass, window: { ...pass.window, from: '2030-01-01' } },
      'window.from: an ISO 8601 instant is needed',
    ],
    [
      'too many items',
      { ...pass, labels: Array.from({ length: 1025 }, () => ({ name: 'x' })) },
      'labels: has too many items',
    ],
    ['a signature without sig', { ...pass, signature: { key_id: 'k' } }, 'signature: key_id and sig are needed'],
    ['an unknown member', { ...pass, more: 1, window: { ...pass.window, more: 1 } }, 'read'],
  ])('%s', (_name, value, expected) => {
    expect(formError(value)).toBe(expected)
  })

  it('refuses a missing member that has no default', () => {
    const { pass_id: _gone, ...rest } = pass
    expect(formError(rest)).toBe('pass_id: is missing')
  })

  it('fills defaults in the typed record and leaves the wire alone', () => {
    const { labels: _s, scope: _c, note: _n, ...rest } = pass
    const value = { ...rest, lane: null }
    const { record, wire } = readReceived(passForm, value)
    expect(record).toEqual({ ...rest, note: null, labels: [], scope: {}, signature: null })
    expect('lane' in record).toBe(false)
    expect(wire).toBe(value)
  })

  it('refuses nine signatures', () => {
    const charter = { charter_id: 'c', parties: ['a'], proof: {}, window: pass.window }
    expect(
      formError({ ...charter, signatures: Array.from({ length: 8 }, () => ({ key_id: 'k', sig: 'x' })) }, charterForm),
    ).toBe('read')
    expect(
      formError({ ...charter, signatures: Array.from({ length: 9 }, () => ({ key_id: 'k', sig: 'x' })) }, charterForm),
    ).toBe('signatures: has too many items')
  })
})

describe('F2: the signed projection', () => {
  it('drops the signature and nulls of class omit at every depth, and nothing else', () => {
    const value = { ...pass, lane: null, labels: [{ name: 'north', extra: null }], stray: null, signature: null }
    expect(canonicalJson(signedProjection(readReceived(passForm, value)))).toBe(canonicalJson({ ...pass, stray: null }))
  })

  it('takes exactly the fixed members, a missing one as null', () => {
    const value = { charter_id: 'c', parties: ['a'], window: pass.window, stray: 1 }
    expect(canonicalJson(signedProjection(readReceived(charterForm, value)))).toBe(
      canonicalJson({ parties: ['a'], proof: null, window: pass.window }),
    )
  })

  it('keeps a member named __proto__', () => {
    const value = readJson(
      '{"charter_id":"c","parties":["a"],"proof":{"__proto__":1},"window":{"from":"2030-01-01T00:00:00Z","until":"2031-01-01T00:00:00Z","__proto__":2}}',
    )
    expect(canonicalJson(signedProjection(readReceived(charterForm, value)))).toBe(
      '{"parties":["a"],"proof":{"__proto__":1},"window":{"__proto__":2,"from":"2030-01-01T00:00:00Z","until":"2031-01-01T00:00:00Z"}}',
    )
  })
})

describe('F3 to F5', () => {
  it('accepts what the form signed, under any of the keys', async () => {
    const sealed = await signForm(passForm, { ...pass, signature: null }, key)
    expect(await verdict(sealed)).toBe('ok')
    expect(await verdict({ ...sealed, lane: null })).toBe('ok')
    expect(await verdict({ ...sealed, signature: { ...sealed.signature, more: 1 } as JsonValue })).toBe('ok')
  })

  it('signs the canonical bytes of the record without its signature', async () => {
    const sealed = await signForm(passForm, { ...pass, signature: null }, key)
    expect(await verifySignature(key.publicKey, toUtf8(canonicalJson(pass)), sealed.signature?.sig ?? '')).toBe(true)
    expect(receivedDigest(asReceived(passForm, sealed))).toMatch(/^[0-9a-f]{64}$/)
  })

  it.each<[string, JsonObject, string]>([
    ['nothing wrong', pass, 'ok'],
    ['an unknown member', { ...pass, more: 1 }, 'unknown_field'],
    ['an unknown member of a part', { ...pass, window: { ...pass.window, more: 1 } }, 'unknown_field'],
    ['an unknown member in a list', { ...pass, labels: [{ name: 'a', more: 1 }] }, 'unknown_field'],
    [
      'an unknown member of a part of class omit',
      { ...pass, lane: { code: 'c', colour: null, more: 1 } },
      'unknown_field',
    ],
    [
      'a default left out of a part',
      { ...pass, window: { from: pass.window.from, until: pass.window.until } },
      'non_canonical_form',
    ],
    ['a null left out inside a part of class omit', { ...pass, lane: { code: 'c' } }, 'non_canonical_form'],
    [
      'both at once',
      { ...pass, more: 1, window: { from: pass.window.from, until: pass.window.until } },
      'unknown_field',
    ],
    ['another text of an instant', { ...pass, window: { ...pass.window, from: '2030-01-01T01:00:00+01:00' } }, 'ok'],
  ])('signed with %s', async (_name, body, expected) => {
    expect(await verdict(await signedAsIs(body))).toBe(expected)
  })

  it('reports any unsigned addition as a bad signature', async () => {
    const sealed = await signForm(passForm, { ...pass, signature: null }, key)
    expect(await verdict({ ...sealed, more: 1 })).toBe('invalid_signature')
    expect(await verdict({ ...sealed, open: false })).toBe('invalid_signature')
    const { note: _gone, ...without } = sealed
    expect(await verdict(without)).toBe('invalid_signature')
    expect(await verdict({ ...sealed, signature: null })).toBe('missing_signature')
  })

  it('ignores members outside a fixed list, and finds missing ones', async () => {
    const charter = { charter_id: 'c', parties: ['a'], proof: {}, window: pass.window, signatures: [] }
    const sealed = await signForm(charterForm, charter, key)
    expect(await verdict({ ...sealed, charter_id: 'd', stray: 1 }, charterForm)).toBe('ok')
    const twice = await signForm(charterForm, sealed, other)
    expect(twice.signatures.map(({ key_id }) => key_id)).toEqual(['k', 'o'])
    const { proof: _gone, ...without } = charter
    const body = { parties: ['a'], proof: null, window: pass.window }
    const sig = toBase64(await key.sign(toUtf8(canonicalJson(body))))
    expect(await verdict({ ...without, signatures: [{ key_id: 'k', sig }] }, charterForm)).toBe('non_canonical_form')
  })

  it('lets others work while it tries many keys', async () => {
    const charter = { charter_id: 'c', parties: ['a'], proof: {}, window: pass.window, signatures: [] }
    const sealed = await signForm(charterForm, charter, key)
    const signatures = Array.from({ length: 8 }, () => ({ key_id: 'k', sig: sealed.signatures[0]?.sig ?? '' }))
    const keys = await Promise.all(
      Array.from(
        { length: 64 },
        async (_, n) => (await seedSigner('n', toBase64(new Uint8Array(32).fill(n + 3)))).publicKey,
      ),
    )
    const received = readReceived(charterForm, { ...sealed, signatures })
    let turns = 0
    const immediate = (globalThis as unknown as { setImmediate: (turn: () => void) => void }).setImmediate
    const turn = (): void => {
      turns += 1
      if (turns < 10) immediate(turn)
    }
    immediate(turn)
    expect(await verifyReceived(received, keys)).toEqual({ ok: false, reason: 'invalid_signature' })
    // 64 checks in slices of 16: others had a turn after each slice but the last.
    expect(turns).toBe(3)
    expect(await verifyReceived(received, [...keys.slice(1), key.publicKey])).toEqual({ ok: true })
  })
})

describe('a record without a signature', () => {
  it('digests every member, whatever its name', () => {
    const form = unsignedForm({ note_id: yes(identifier) })
    const [plain, more] = [{ note_id: 'a' }, { note_id: 'a', none: 1 }].map((wire) => readReceived(form, wire))
    if (plain === undefined || more === undefined) throw new Error('two records')
    expect(signedProjection(more)).toEqual({ note_id: 'a', none: 1 })
    expect(receivedDigest(more)).not.toBe(receivedDigest(plain))
  })
})
