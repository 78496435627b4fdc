import { type JsonObject, readJson } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { requireServerName, toArguments, toolCapability, toolDigest, toolParameters } from './tool-call.ts'

const call = { server: 'files', tool: 'print', arguments: { copies: 2, text: 'private', mcp: 'x' } }

describe('toolParameters', () => {
  it('shows named arguments, and the others as a digest only', () => {
    const parameters = toolParameters({ ...call, named: ['copies', 'absent'] })
    expect(parameters).toMatchObject({ copies: 2, mcp: { server: 'files', tool: 'print' } })
    expect(JSON.stringify(parameters)).not.toContain('private')
  })

  it('never lets an argument replace the description of the call', () => {
    expect(toolParameters({ ...call, named: ['mcp'] })).toMatchObject({ mcp: { tool: 'print' } })
  })

  it('has another digest for other arguments', () => {
    const digestOf = (given: JsonObject): unknown => toolParameters({ ...call, arguments: given })['mcp']
    expect(digestOf({ a: 1 })).not.toEqual(digestOf({ a: 2 }))
    expect(digestOf({ a: 1, b: 2 })).toEqual(digestOf({ b: 2, a: 1 }))
  })
})

it('has a digest of what the caller sent besides the arguments', () => {
  const digestOf = (input: JsonObject): unknown =>
    (toolParameters({ ...call, input })['mcp'] as JsonObject)['input_digest']
  expect(digestOf({})).toBeUndefined()
  expect(digestOf({ requestState: 'a' })).toMatch(/^[0-9a-f]{64}$/)
  expect(digestOf({ requestState: 'a' })).not.toBe(digestOf({ requestState: 'b' }))
})

it('has a digest of all of _meta, which differs from that of the other input', () => {
  const partsOf = (meta: JsonObject): JsonObject => toolParameters({ ...call, meta })['mcp'] as JsonObject
  expect(partsOf({})['meta_digest']).toBeUndefined()
  const [one, two] = [partsOf({ 'example.com/user': 'a' }), partsOf({ 'example.com/user': 'b' })]
  expect(one['meta_digest']).toMatch(/^[0-9a-f]{64}$/)
  expect(one['meta_digest']).not.toBe(two['meta_digest'])
  expect([one['input_digest'], one['arguments_digest']]).toEqual([undefined, two['arguments_digest']])
})

describe('toolDigest', () => {
  const tool = readJson('{"name":"print","description":"Prints.","inputSchema":{"type":"object"}}') as JsonObject

  it.each(['name', 'description', 'inputSchema', 'outputSchema', 'annotations', 'title'])('changes with %s', (name) => {
    expect(toolDigest({ ...tool, [name]: { changed: true } })).not.toBe(toolDigest(tool))
  })

  it('does not change with _meta or with the order of members', () => {
    const { name = null, ...rest } = tool
    expect(toolDigest({ ...rest, name, _meta: { x: 1 } })).toBe(toolDigest(tool))
  })
})

describe('names', () => {
  it.each(['', 'a b', 'a:b', '../x', '.x', 'x'.repeat(65)])('refuses the server name %j', (name) => {
    expect(() => requireServerName(name)).toThrow('the name of a server')
  })

  it('refuses an empty or long tool name', () => {
    expect(toolCapability('files', 'print')).toBe('mcp:files:print')
    expect(() => toolCapability('files', '')).toThrow('the name of the tool')
    expect(() => toolCapability('files', 'x'.repeat(256))).toThrow('the name of the tool')
  })
})

it('keeps fractions of numbers in arguments', () => {
  expect(toolParameters({ ...call, arguments: toArguments({ price: 1.5 }), named: ['price'] })).toHaveProperty(
    'price.value',
    1.5,
  )
})

it.each([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN])(
  'refuses the number %d at any depth, because JSON writes it as null',
  (number) => {
    for (const value of [{ amount: number }, { list: [{ amount: number }] }, number])
      expect(() => toArguments(value)).toThrow('a number of the call is not finite')
    expect(toArguments({ amount: null, most: Number.MAX_SAFE_INTEGER })).toEqual({
      amount: null,
      most: Number.MAX_SAFE_INTEGER,
    })
  },
)

it.each<[string, unknown]>([
  ['a Map', { amounts: new Map([['amount', 1]]) }],
  ['a function', { amount: () => 1 }],
  ['a symbol', [{ amount: Symbol('one') }]],
  ['a bigint', { amount: 1n }],
])('refuses %s, because JSON would lose it', (_name, value) => {
  expect(() => toArguments(value)).toThrow('has no form in JSON')
})

it.each([undefined, null, 1, 'text', [1]])('refuses %j as arguments: only an object has names', (value) => {
  expect(() => toArguments(value)).toThrow('its arguments are not an object')
})

it('takes plain objects of any origin, and what states its own JSON', () => {
  const bare = Object.assign(Object.create(null) as object, { at: new Date(0) })
  expect(toArguments({ bare, left: undefined })).toEqual({ bare: { at: '1970-01-01T00:00:00.000Z' } })
})
