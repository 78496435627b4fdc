import { expect, it } from 'vitest'
import { CallError } from '../client.ts'
import { undoFailure } from './undo.ts'

const CHECK = { href: '/operator/nodes', text: 'Check' }
const failure = (status: number, code: string, details = {}): CallError =>
  new CallError({ message: 'No.', status, code, details, requestId: undefined, retryAfterSeconds: undefined })

it.each([
  [failure(0, 'no_response')],
  [failure(503, 'service_unavailable', { outcome: 'unknown' })],
  [failure(502, 'unexpected_response')],
  [failure(200, 'unexpected_response')],
])('says that the outcome of a way back is not certain, and where to check it', (error) => {
  const toast = undoFailure(error, true, CHECK)
  expect(toast.text).toContain('not certain')
  expect(toast.link).toEqual(CHECK)
})

it.each([
  [failure(409, 'conflict'), true],
  [failure(503, 'service_unavailable'), true],
  // The read before it failed: nothing was sent.
  [failure(0, 'no_response'), false],
])('says that nothing was undone when that is certain', (error, isSent) => {
  expect(undoFailure(error, isSent, CHECK)).toEqual({ text: 'It was not undone: No.' })
})
