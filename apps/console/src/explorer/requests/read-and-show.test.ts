import { createHash, randomBytes } from 'node:crypto'
import type { Mesh } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { findMistype } from './check-token.ts'
import { freshExample } from './example-body.ts'
import { explainReply } from './explain-reply.ts'
import { indentJson } from './indent-json.ts'
import { findStaleReason } from './mesh.ts'
import { readPastedHeaders } from './pasted-headers.ts'

describe('a token', () => {
  const head = `gw1_${randomBytes(32).toString('base64url')}`
  const token = `${head}_${createHash('sha256').update(head).digest().subarray(0, 4).toString('base64url')}`

  it('of the command line is accepted, and so is one of another form', () => {
    expect(findMistype(token)).toBeUndefined()
    expect(findMistype(randomBytes(32).toString('hex'))).toBeUndefined()
  })

  it('with one wrong, missing or additional character is refused without a request', () => {
    const other = token[10] === 'A' ? 'B' : 'A'
    const mistyped = [
      token.slice(0, 10) + other + token.slice(11),
      token.slice(0, -1),
      `${token}A`,
      `gw1_${'a'.repeat(40)}`,
    ]
    for (const wrong of mistyped) expect(findMistype(wrong)).toContain('checksum')
    for (const wrong of ['', 'short', `${token} x`, 'é'.repeat(40)]) expect(findMistype(wrong)).toBeDefined()
  })
})

describe('JSON in lines', () => {
  it('keeps the digits of every number and every escape', () => {
    const text = '{"a":1.0,"big":12345678901234567890,"e":1e2,"s":"a\\"{[:,]}\\u00e9","l":[],"o":{},"n":[1,{"x":null}]}'
    expect(indentJson(text)).toBe(
      [
        '{',
        '  "a": 1.0,',
        '  "big": 12345678901234567890,',
        '  "e": 1e2,',
        '  "s": "a\\"{[:,]}\\u00e9",',
        '  "l": [],',
        '  "o": {},',
        '  "n": [',
        '    1,',
        '    {',
        '      "x": null',
        '    }',
        '  ]',
        '}',
      ].join('\n'),
    )
  })

  it('returns other text unchanged', () => {
    for (const text of ['', 'gateway_ready 1\n', '<html>']) expect(indentJson(text)).toBe(text)
  })
})

it('an example gets current times, the later ones after the first', () => {
  const now = Date.parse('2031-05-06T07:08:09.123Z')
  const body = '{"valid_from":"2026-01-01T00:00:00Z","valid_until":"2027-01-01T00:00:00Z","n":1.50}'
  expect(JSON.parse(freshExample(body, now))).toEqual({
    valid_from: '2031-05-06T07:08:09Z',
    valid_until: '2031-05-07T07:08:09Z',
    n: 1.5,
  })
  expect(freshExample(body, now)).toContain('1.50')
})

describe('pasted headers', () => {
  const wanted = {
    'X-Admin-Key-Id': 'op-1',
    'X-Admin-Timestamp': '2026-03-02T10:00:00Z',
    'X-Admin-Nonce': '5b0c0f0e-1c1d-4e2f-8a3b-000000000001',
    'X-Admin-Signature': '/j85+4/53nEBc14hN4lc91jGjTj56BABjhyDQ==',
  }
  const lines = Object.entries(wanted).map(([name, value]) => `${name}: ${value}`)

  it.each([
    ['lines', lines.join('\n')],
    ['small letters', lines.join('\n').replaceAll('X-Admin', 'x-admin')],
    ['the JSON of the library', JSON.stringify(wanted)],
    ['the indented JSON', JSON.stringify(wanted, null, 2)],
  ])('are read from %s', (_what, text) => expect(readPastedHeaders(text)).toEqual(wanted))

  it.each([
    ['one missing', lines.slice(1).join('\n')],
    ['one twice', [...lines, lines[2]].join('\n')],
    ['nothing', ''],
  ])('are refused with %s', (_what, text) => expect(readPastedHeaders(text)).toBeUndefined())
})

describe('a failure', () => {
  const explain = (status: number, body: unknown, retryAfter?: string): ReturnType<typeof explainReply> =>
    explainReply({
      status,
      text: typeof body === 'string' ? body : JSON.stringify(body),
      milliseconds: 1,
      requestId: undefined,
      upstreamRequestId: undefined,
      retryAfter,
    })
  const gateway = (reason: string): object => ({ error: 'text', code: 'x', reason })
  const authority = (code: string): object => ({ error: { code, message: 'Their words.' } })

  it.each([
    [401, gateway('credential_invalid'), 'gateway', /refused the token/],
    [429, gateway('client_quota'), 'gateway', /quota of this token is used up.*in 12 seconds/],
    [429, authority('rate_limit_exceeded'), 'authority', /limits this gateway.*in 12 seconds/],
    [429, authority('admin_auth_throttled'), 'authority', /limits operator signatures/],
    [401, authority('unauthorized'), 'authority', /key id, the seed and the clock.*Their words/],
    [403, authority('insufficient_operator_tier'), 'authority', /lacks the tier/],
    [502, gateway('authority_timeout'), 'gateway', /^The authority did not respond in time\. Try again/],
    [502, { ...gateway('authority_timeout'), outcome_uncertain: true }, 'gateway', /may have been executed/],
    [502, gateway('authority_unreachable'), 'gateway', /The operation was not executed/],
    [
      502,
      { ...gateway('authority_unreachable'), outcome_uncertain: true },
      'gateway',
      /^(?!.*Nothing).*may have been executed/,
    ],
    [408, { ...gateway('deadline'), outcome_uncertain: true }, 'gateway', /longer than.*may have been executed/],
    [503, { ...gateway('audit_unavailable'), outcome_uncertain: true }, 'gateway', /may have been executed/],
    [418, gateway('new_reason'), 'gateway', /^text/],
    [500, 'no JSON', 'gateway', /status 500/],
  ] as const)('with status %i is explained in a sentence', (status, body, by, sentence) => {
    const told = explain(status, body, '12')
    expect(told?.by).toBe(by)
    expect(told?.sentence).toMatch(sentence)
  })

  it('is not reported below 400', () => expect(explain(200, {})).toBeUndefined())
})

it('a mesh is shown as stale when it is marked so, not refreshed, or old', () => {
  const mesh = { observed_at: '2026-01-01T00:00:00Z' } as Mesh
  const now = Date.parse('2026-01-01T00:00:20Z')
  expect(findStaleReason(mesh, false, now)).toBeUndefined()
  expect(findStaleReason({ ...mesh, stale: true }, false, now)).toContain('20 s ago')
  expect(findStaleReason(mesh, true, now)).toContain('did not respond')
  expect(findStaleReason(mesh, false, now + 600_000)).toContain('620 s ago')
})
