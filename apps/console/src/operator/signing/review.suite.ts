import type { JsonObject, JsonValue } from '@chancery/protocol'
import { afterEach, beforeEach, vi } from 'vitest'
import { CallError, at } from '../client.ts'
import type { Act } from './act.ts'
import type { Payload, RequestDraft } from './payload.ts'
import { Review } from './review-state.ts'

export const ACT: Act = {
  name: 'revoke',
  title: 'Revoke a certificate',
  sentence: 'Permanent.',
  button: 'Sign and revoke',
  fields: [{ name: 'id', label: 'Certificate', kind: 'text', initial: 'one' }],
  hasDryRun: true,
  requests: ({ id = '' }) => {
    if (id === '') throw new Error('Give a certificate.')
    return [{ target: at`/admin/revoke`, body: { cert_id: id }, isRepeatable: true }]
  },
  effects: () => [],
  done: () => ({ toast: { text: 'done' } }),
}

interface Sent {
  readonly body: JsonObject | undefined
  readonly nonce: string
  readonly key: string | undefined
  answer(value: JsonValue): void
  fail(error: Error): void
}

export const noResponse = (): CallError =>
  new CallError({
    message: 'none',
    status: 0,
    code: 'no_response',
    requestId: undefined,
    retryAfterSeconds: undefined,
    details: {},
  })

export const time = { now: 0 }
/** Every request of the test, in order. */
export const sent: Sent[] = []
export const isDryRun = ({ body }: Sent): boolean => body?.['dry_run'] === true
export const open = (act: Partial<Act> = {}): Review => {
  let count = 0
  const review = new Review(
    { ...ACT, ...act },
    {
      makePayload: (draft: RequestDraft): Payload => {
        count += 1
        const text = JSON.stringify({ body: draft.body, nonce: count })
        const bytes = new TextEncoder().encode(text)
        return { ...draft, bytes, text, keyId: 'op', timestamp: '', nonce: String(count), madeAt: time.now }
      },
      send: ({ body, nonce, idempotencyKey }) =>
        new Promise((answer, fail) => void sent.push({ body, nonce, key: idempotencyKey, answer, fail })),
      now: () => time.now,
      newKey: () => `key-${(count += 1)}`,
      onChange: () => undefined,
    },
  )
  review.open()
  return review
}
/** Answers the newest request and lets the review continue. */
export const reply = async (value: JsonValue): Promise<void> => {
  sent.at(-1)?.answer(value)
  await vi.advanceTimersByTimeAsync(0)
}

/** Refuses the newest request and lets the review continue. */
export const fail = async (error: Error): Promise<void> => {
  sent.at(-1)?.fail(error)
  await vi.advanceTimersByTimeAsync(0)
}

/** Presses, and waits until the next request was sent. */
export const press = async (review: Review): Promise<void> => {
  void review.press()
  await vi.advanceTimersByTimeAsync(0)
}

/** Gives each test of a file timers that it moves, and no earlier request. */
export function useReviews(): void {
  beforeEach(() => {
    vi.useFakeTimers()
    time.now = 0
    sent.length = 0
  })
  afterEach(() => vi.useRealTimers())
}
