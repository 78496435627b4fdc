import { expect, it, vi } from 'vitest'
import { CallError, at } from '../client.ts'
import type { Act } from './act.ts'
import { PAYLOAD_MS } from './review-state.ts'
import { fail, open, press, reply, sent, time, noResponse, useReviews } from './review.suite.ts'

useReviews()

it('repeats a request without response with another nonce and the same body and idempotency key', async () => {
  const review = open()
  await reply({})
  await press(review)
  sent.at(-1)?.fail(noResponse())
  await vi.advanceTimersByTimeAsync(0)
  expect(review.phase.kind).toBe('unknown')
  await press(review)
  await reply({ status: 'revoked' })
  const [, first, second] = sent
  expect(second?.body).toEqual(first?.body)
  expect(second?.key).toBe(first?.key)
  expect(first?.key).toBeDefined()
  expect(second?.nonce).not.toBe(first?.nonce)
  expect(review.phase.kind).toBe('done')
})

it('is not certain after a response that states an unknown outcome', async () => {
  const review = open()
  await reply({})
  await press(review)
  const facts = { ...noResponse(), message: 'no', status: 503, code: 'service_unavailable' }
  sent.at(-1)?.fail(new CallError({ ...facts, details: { outcome: 'unknown' } }))
  await vi.advanceTimersByTimeAsync(0)
  expect(review.phase.kind).toBe('unknown')
})

const TWO: Partial<Act> = {
  hasDryRun: undefined as never,
  requests: () => [
    { target: at`/admin/boundary-policies`, body: { a: 1 }, isRepeatable: true },
    { target: at`/admin/boundary-policies/${'p'}/activate`, body: { b: 2 } },
  ],
}
it.each([
  [noResponse()],
  [new CallError({ ...noResponse(), message: 'no', status: 503, details: { outcome: 'unknown' } })],
])(
  'is not certain about the second request without a usable response, and sends only that one again',
  async (error) => {
    const review = open(TWO)
    await vi.advanceTimersByTimeAsync(0)
    await press(review)
    await reply({ version: 3 })
    await fail(error)
    expect(review.phase).toEqual({ kind: 'unknown', done: 1 })
    expect(review.payloads.map(({ body }) => body)).toEqual([{ b: 2 }])
    await press(review)
    expect(sent.map(({ body }) => body)).toEqual([{ a: 1 }, { b: 2 }, { b: 2 }])
    expect(sent[2]?.nonce).not.toBe(sent[1]?.nonce)
    await reply({ status: 'active' })
    expect(review.phase).toEqual({ kind: 'done', answers: [{ version: 3 }, { status: 'active' }] })
  },
)

it('makes an old repetition again with the same body and key, and shows it before a press counts', async () => {
  const review = open({ final: { warning: 'Permanent.', typed: 'one' } })
  await reply({})
  review.type('one')
  await press(review)
  await fail(noResponse())
  const before = review.payloads[0]
  time.now += PAYLOAD_MS + 1
  await press(review)
  expect(sent).toHaveLength(2)
  expect([review.phase.kind, review.typed]).toEqual(['unknown', ''])
  expect(review.hint).toContain('made again')
  const { body, idempotencyKey } = before ?? {}
  expect(review.payloads[0]).toMatchObject({ body, idempotencyKey, madeAt: time.now })
  expect(review.payloads[0]?.nonce).not.toBe(before?.nonce)
  review.type('one')
  await press(review)
  expect(sent.at(-1)).toMatchObject({ body, key: idempotencyKey })
})

it('reports that the first attempt may have happened after a repetition was refused, and after an edit', async () => {
  const review = open()
  await reply({})
  await press(review)
  expect(review.mayHaveHappened).toBe(false)
  await fail(noResponse())
  await press(review)
  await fail(new CallError({ ...noResponse(), message: 'no', status: 409, code: 'conflict' }))
  expect([review.phase.kind, review.mayHaveHappened]).toEqual(['failed', true])
  review.edit('id', 'two')
  expect(review.mayHaveHappened).toBe(true)
})

it('ignores edits while the outcome is not certain', async () => {
  const review = open()
  await reply({})
  await press(review)
  await fail(noResponse())
  const { payloads } = review
  review.edit('id', 'two')
  await vi.advanceTimersByTimeAsync(1_000)
  expect([review.phase.kind, review.values['id'], review.payloads]).toEqual(['unknown', 'one', payloads])
  await press(review)
  expect([sent.at(-1)?.body, sent.at(-1)?.key]).toEqual([sent[1]?.body, sent[1]?.key])
})
