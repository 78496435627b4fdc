import type { JsonObject } from '@chancery/protocol'
import { beforeEach, expect, it } from 'vitest'
import { type ServerMessage, readClientMessage, readServerMessage } from './messages.ts'
import { RequestIds, type SentRequest } from './request-ids.ts'

let ids: RequestIds
beforeEach(() => {
  ids = new RequestIds()
})

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

function send(id: unknown, params: object = {}): SentRequest {
  const message = readClientMessage(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }))
  if (message.kind !== 'request') throw new Error(message.kind)
  return ids.toServer(message)
}

const received = (message: object): ServerMessage => readServerMessage(JSON.stringify({ jsonrpc: '2.0', ...message }))
const shown = (message: object): JsonObject | undefined => ids.toClient(received(message))?.value

it('gives each request another id, and the client its own back', () => {
  const [one, two] = [send(7), send('7')]
  expect(new Set([one.own, two.own, 7, '7']).size).toBe(4)
  expect(one.request).toMatchObject({ id: 7, value: { id: one.own } })
  expect(shown({ id: one.own, result: {} })).toEqual({ jsonrpc: '2.0', id: 7, result: {} })
  expect(shown({ id: two.own, error: { code: 1, message: '' } })).toMatchObject({ id: '7' })
})

it('shows no response to an id that the guard did not send', () => {
  send(7)
  expect(shown({ id: 7, result: {} })).toBeUndefined()
  expect(shown({ id: null, error: { code: 1, message: '' } })).toMatchObject({ id: null })
})

it('replaces the progress token before the decision, so that its digest is about what is sent', () => {
  const { own, request } = send(1, { name: 'read', _meta: { progressToken: 5, trace: 'x' } })
  expect(request.params).toEqual({ name: 'read', _meta: { progressToken: own, trace: 'x' } })
  expect(request.value['params']).toEqual(request.params)
  const progress = (progressToken: unknown): object => ({
    method: 'notifications/progress',
    params: { progressToken, progress: 1 },
  })
  expect(shown(progress(own))).toMatchObject({ params: { progressToken: 5, progress: 1 } })
  expect(shown(progress(5))).toBeUndefined()
  expect(shown({ method: 'notifications/progress' })).toBeUndefined()
})

it('names subscriptions and their end as the client does', () => {
  const { own } = send('listen')
  ids.end(own)
  const updated = (id: string): object => ({ method: 'notifications/x', params: { _meta: { [SUBSCRIPTION]: id } } })
  expect(shown(updated(own))).toMatchObject({ params: { _meta: { [SUBSCRIPTION]: 'listen' } } })
  expect(shown(updated('other'))).toBeUndefined()
  expect(shown({ id: own, result: { _meta: { [SUBSCRIPTION]: own } } })).toMatchObject({
    id: 'listen',
    result: { _meta: { [SUBSCRIPTION]: 'listen' } },
  })
  const cancelled = (requestId: string): object => ({ method: 'notifications/cancelled', params: { requestId } })
  expect(shown(cancelled(own))).toMatchObject({ params: { requestId: 'listen' } })
  expect(shown(cancelled('of-the-server'))).toMatchObject({ params: { requestId: 'of-the-server' } })
  expect(shown({ id: 'of-the-server', method: 'roots/list' })).toMatchObject({ id: 'of-the-server' })
})

it('cancels the running request of an id once, and shows nothing of it any more', () => {
  const { own } = send(7, { _meta: { progressToken: 7 } })
  expect(ids.cancel({})).toBeUndefined()
  expect(ids.cancel({ requestId: '7' })).toBeUndefined()
  expect(ids.cancel({ requestId: 7 })).toBe(own)
  expect(ids.cancel({ requestId: 7 })).toBeUndefined()
  expect(shown({ id: own, result: {} })).toBeUndefined()
})

it('cancels none of two running requests of one id: one caller could end the request of another', () => {
  const [one, two] = [send(7), send(7)]
  expect(ids.cancel({ requestId: 7 })).toBeUndefined()
  ids.end(one.own)
  expect(ids.cancel({ requestId: 7 })).toBe(two.own)
})

it('drops an ended request when its id or token is used again, and the oldest of very many', () => {
  const first = send(1, { _meta: { progressToken: 'a' } })
  ids.end(first.own)
  expect(shown({ id: first.own, result: {} })).toMatchObject({ id: 1 })
  const second = send(2, { _meta: { progressToken: 'a' } })
  expect(shown({ id: first.own, result: {} })).toBeUndefined()
  ids.end(second.own)
  for (let id = 10; id < 1012; id += 1) ids.end(send(id).own)
  expect(shown({ id: second.own, result: {} })).toBeUndefined()
})
