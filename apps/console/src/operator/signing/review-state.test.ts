import { describe, expect, it, vi } from 'vitest'
import { CallError, at } from '../client.ts'
import type { Act } from './act.ts'
import { DRY_RUN_MS, PAYLOAD_MS } from './review-state.ts'
import { ACT, open, press, reply, sent, time, isDryRun, noResponse, useReviews } from './review.suite.ts'

useReviews()

describe('a review', () => {
  it('cannot be signed before its dry run answered', async () => {
    const review = open()
    expect(review.canSign).toBe(false)
    await review.press()
    expect(sent.map(isDryRun)).toEqual([true])
    await reply({ count: 1 })
    expect(review.canSign).toBe(true)
  })

  it('signs exactly the payload that it shows', async () => {
    const review = open()
    await reply({})
    const shown = review.payloads[0]
    await press(review)
    await reply({ status: 'revoked' })
    expect(sent.at(-1)).toMatchObject({ nonce: shown?.nonce, body: { cert_id: 'one' } })
    expect(review.phase).toEqual({ kind: 'done', answers: [{ status: 'revoked' }] })
  })

  it('drops the dry run of former values that answers after an edit', async () => {
    const review = open()
    const first = sent[0]
    review.edit('id', 'two')
    await vi.advanceTimersByTimeAsync(1_000)
    first?.answer({ count: 'of one' })
    await vi.advanceTimersByTimeAsync(0)
    expect(review.dryRun).toBeUndefined()
    expect(review.canSign).toBe(false)
    expect(sent.at(-1)?.body).toEqual({ cert_id: 'two', dry_run: true })
    await reply({ count: 'of two' })
    expect([review.dryRun, review.payloads[0]?.body]).toEqual([{ count: 'of two' }, { cert_id: 'two' }])
  })

  it('removes confirmation, payload and dry run at an edit', async () => {
    const review = open({ final: { warning: 'Permanent.', typed: 'berth-1' } })
    await reply({})
    review.type('berth-1')
    expect(review.canSign).toBe(true)
    review.edit('id', 'two')
    expect([review.canSign, review.typed, review.payloads, review.dryRun]).toEqual([false, '', [], undefined])
  })

  it('keeps a confirmation that was typed before the review of an edit is ready', async () => {
    const review = open({ final: { warning: 'Permanent.', typed: 'two' } })
    await reply({})
    review.edit('id', 'two')
    review.type('two')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(review.canSign).toBe(false)
    await reply({})
    expect(review.canSign).toBe(true)
  })

  it('is made again when the page is about something else, and goes on when it is not', async () => {
    const review = open({ final: { warning: 'Permanent.', typed: 'one' } })
    await reply({})
    review.type('one')
    const shown = review.payloads
    review.follow({ ...ACT, final: { warning: 'Permanent.', typed: 'one' } })
    expect([review.canSign, review.payloads]).toEqual([true, shown])
    const requests: Act['requests'] = () => [{ target: at`/admin/other`, body: { cert_id: 'two' } }]
    review.follow({ ...ACT, title: 'Revoke two', requests, final: { warning: 'Permanent.', typed: 'two' } })
    expect([review.canSign, review.payloads.length, review.typed]).toEqual([false, 1, ''])
    await press(review)
    await reply({})
    expect(review.hint).toContain('changed')
    expect(review.payloads[0]?.target).toEqual(at`/admin/other`)
    review.type('two')
    expect(review.canSign).toBe(true)
    expect(sent.every(isDryRun)).toBe(true)
  })

  it('asks an old dry run again about the shown request, and keeps a request without response', async () => {
    const review = open()
    await reply({ count: 1 })
    time.now += DRY_RUN_MS + 1
    const requests: Act['requests'] = () => [{ target: at`/admin/revoke`, body: { cert_id: 'newer' } }]
    // The page has a newer certificate under the same title.
    review.follow({ ...ACT, requests })
    await press(review)
    expect(sent.at(-1)?.body).toEqual({ cert_id: 'one', dry_run: true })
    await reply({ count: 1 })
    const key = sent.at(-1)?.key
    expect(sent.at(-1)?.body).toEqual({ cert_id: 'one' })
    sent.at(-1)?.fail(noResponse())
    await vi.advanceTimersByTimeAsync(0)
    expect(review.phase.kind).toBe('unknown')
    review.follow({ ...ACT, title: 'Revoke another' })
    expect(review.phase.kind).toBe('unknown')
    await press(review)
    expect([sent.at(-1)?.key, key]).toEqual([expect.any(String), sent.at(-1)?.key])
  })

  it('needs the exact name for a final action', async () => {
    const review = open({ final: { warning: 'Permanent.', typed: 'berth-1' } })
    await reply({})
    for (const typed of ['', 'berth', 'Berth-1', 'berth-1 ']) {
      review.type(typed)
      expect(review.canSign, typed).toBe(false)
    }
    review.type('berth-1')
    expect(review.canSign).toBe(true)
  })

  it('asks for an old dry run again, and signs nothing when its answer differs', async () => {
    const review = open()
    await reply({ count: 1 })
    time.now = DRY_RUN_MS + 1
    await press(review)
    await reply({ count: 2 })
    expect(sent.map(isDryRun)).toEqual([true, true])
    expect([review.phase.kind, review.dryRun]).toEqual(['ready', { count: 2 }])
    expect(review.hint).toContain('Nothing was signed')
    await press(review)
    await reply({})
    expect(sent.map(isDryRun)).toEqual([true, true, false])
  })

  it('signs after an old dry run gave the same answer again', async () => {
    const review = open()
    await reply({ count: 1 })
    time.now = DRY_RUN_MS + 1
    await press(review)
    await reply({ count: 1 })
    await reply({ status: 'revoked' })
    expect(review.phase.kind).toBe('done')
  })

  it('makes an old payload again and shows it before a press counts', async () => {
    const review = open()
    await reply({})
    const before = review.payloads[0]?.nonce
    time.now = PAYLOAD_MS + 1
    await review.press()
    expect(sent.map(isDryRun)).toEqual([true])
    expect(review.payloads[0]?.nonce).not.toBe(before)
    expect(review.hint).toContain('made again')
  })

  it('reports how many requests succeeded before one was refused', async () => {
    const requests: Act['requests'] = () => [
      { target: at`/admin/recognition-treaties`, body: { a: 1 } },
      { target: at`/admin/recognition-treaties/x/revoke`, body: { b: 2 } },
    ]
    const { hasDryRun: _none, ...rest } = ACT
    const review = open({ ...rest, hasDryRun: undefined as never, requests })
    await vi.advanceTimersByTimeAsync(0)
    await press(review)
    await reply({ treaty_id: 'new' })
    sent.at(-1)?.fail(new CallError({ ...noResponse(), message: 'no', status: 409, code: 'conflict' }))
    await vi.advanceTimersByTimeAsync(0)
    expect(review.phase).toMatchObject({ kind: 'failed', done: 1 })
    expect(review.canSign).toBe(false)
  })

  it('shows a problem of the values and sends nothing', async () => {
    const review = open({ fields: [{ name: 'id', label: 'Certificate', kind: 'text' }] })
    await vi.advanceTimersByTimeAsync(0)
    expect(review.phase).toMatchObject({ kind: 'problem', problem: { message: 'Give a certificate.' } })
    expect(sent).toEqual([])
  })

  it('sends no second request when the answer of the first is not the expected one', async () => {
    const review = open({
      hasDryRun: undefined as never,
      requests: () => [
        { target: at`/admin/boundary-policies`, body: { policy_id: 'p' } },
        { target: at`/admin/boundary-policies/${'p'}/activate`, body: { version: 3 } },
      ],
      checkAnswers: ([published]) => {
        if (published?.['version'] !== 3) throw new Error('It was published as another version.')
      },
    })
    await vi.advanceTimersByTimeAsync(0)
    void review.press()
    await vi.advanceTimersByTimeAsync(0)
    await reply({ version: 4 })
    expect(sent).toHaveLength(1)
    expect(review.phase).toMatchObject({ kind: 'failed', done: 1 })
  })
})
