import { writeJson } from '@chancery/protocol'
import { describe, expect, it } from 'vitest'
import { readClientMessage, readServerMessage } from './messages.ts'

const call = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`

describe('a message of a client', () => {
  it('is written again without raw control characters, because some readers end a line at CR', () => {
    const read = readClientMessage('{"jsonrpc":"2.0",\r"id":1,\t"method":"ping","params":{"a":"\u2028\u0085"}}')
    if (read.kind !== 'request') throw new Error(read.kind)
    expect(writeJson(read.value)).toBe(
      String.raw`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\u2028\u0085"}}`,
    )
  })

  it.each([
    ['parameters', call('{"name":"read","NAME":"write"}')],
    ['arguments', call('{"name":"read","arguments":{"path":1,"Path":2}}')],
    ['arguments inside of a list', call('{"name":"read","arguments":{"a":[{"b":1,"B":2}]}}')],
    ['arguments with a long s', call('{"name":"read","arguments":{"users":1,"uſers":2}}')],
    ['arguments with a Kelvin sign', call('{"name":"read","arguments":{"key":1,"\u212aey":2}}')],
  ])('is refused when %s differ in case only', (_name, text) => {
    expect(readClientMessage(text)).toMatchObject({ kind: 'invalid', text: 'Two members differ in case only.' })
  })

  it.each(['9007199254740993', '-9007199254740993', '1.0', 'true', 'null', '{}'])('is refused with the id %s', (id) => {
    expect(readClientMessage(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)).toMatchObject({ kind: 'invalid' })
  })

  it.each([
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a byte order mark', Buffer.from('\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}')],
    ['UTF-16', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}', 'utf16le')],
    ['no version of JSON-RPC', Buffer.from('{"id":1,"method":"ping"}')],
    ['an empty result', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping","result":null}')],
  ])('is refused with %s', (_name, bytes) => {
    expect(readClientMessage(bytes)).toMatchObject({ kind: 'invalid' })
  })

  it('is refused when it is nested deeper than the writer writes', () => {
    const deep = `${'['.repeat(100)}${']'.repeat(100)}`
    expect(readClientMessage(call(`{"name":"read","arguments":{"a":${deep}}}`))).toMatchObject({ kind: 'invalid' })
  })
})

describe('a message of a server', () => {
  it.each([
    ['a method that is null, and a result', '{"jsonrpc":"2.0","id":1,"method":null,"result":{"tools":[]}}'],
    ['result and error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}'],
    ['a repeated member', '{"jsonrpc":"2.0","id":1,"result":{},"result":{"tools":[]}}'],
    ['a member in capitals', '{"jsonrpc":"2.0","id":1,"Result":{"tools":[]}}'],
    ['a list of tools in capitals', '{"jsonrpc":"2.0","id":1,"result":{"Tools":[]}}'],
    ['a list of tools with a long s', '{"jsonrpc":"2.0","id":1,"result":{"toolſ":[]}}'],
    ['a result that is a list', '{"jsonrpc":"2.0","id":1,"result":[]}'],
    ['a method and a result', '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}'],
  ])('is an error for the client with %s', (_name, text) => {
    expect(readServerMessage(text)).toMatchObject({
      kind: 'invalid',
      id: 1,
      value: { id: 1, error: { code: -32_603 } },
    })
  })

  it.each([['[{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}]'], ['\ufeff{}'], ['hello'], ['null'], ['']])(
    'is an error without an id: %j',
    (text) => {
      expect(readServerMessage(text)).toMatchObject({ kind: 'invalid', id: null })
    },
  )

  it('is a request, a notification, a result or an error', () => {
    const kinds = ['"id":1,"method":"ping"', '"method":"x"', '"id":1,"result":{}', '"id":null,"error":{"code":1}'].map(
      (members) => readServerMessage(`{"jsonrpc":"2.0",${members}}`).kind,
    )
    expect(kinds).toEqual(['request', 'notification', 'response', 'response'])
  })
})
