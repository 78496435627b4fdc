import { isErrorCode } from '@chancery/contract'
import { AnswerError, RefusedError, RequestError, UnreachableError } from '@chancery/sdk'
import { describe, expect, it } from 'vitest'
import { advisedCodes } from './advice.ts'
import { explain } from './explain.ts'
import { Failure, misuse } from './failure.ts'

function refused(code: string, more: Partial<RefusedError> = {}): RefusedError {
  return new RefusedError({
    status: 400,
    code,
    message: 'No.',
    details: {},
    requestId: 'r-1',
    retryAfterSeconds: undefined,
    clockSkewSeconds: undefined,
    ...more,
  })
}

describe('explain', () => {
  it('gives advice only for codes that exist', () => {
    for (const code of advisedCodes()) expect(isErrorCode(code), code).toBe(true)
  })

  it('keeps code, details and request id of a refusal', () => {
    const error = refused('unexpected_field', { details: { fields: ['alowed_ports'] } })
    expect(explain(error)).toEqual({
      code: 'unexpected_field',
      message: 'No.',
      hint: 'Remove alowed_ports from the policy file.',
      requestId: 'r-1',
      details: { fields: ['alowed_ports'] },
      exitCode: 1,
    })
  })

  it.each([
    [refused('rate_limit_exceeded', { retryAfterSeconds: 60 }), 'Wait 60 s and try again.'],
    [refused('invalid_policy', { details: { field: 'routing.max_hops' } }), 'routing.max_hops'],
    [refused('invalid_policy'), 'named in the details'],
    [refused('admin_auth_failed', { clockSkewSeconds: 840 }), '14 minutes ahead of'],
    [refused('admin_auth_failed', { clockSkewSeconds: -301 }), '5 minutes behind'],
    [refused('service_unavailable', { details: { outcome: 'unknown' } }), 'not known whether the change was made'],
    [refused('service_unavailable'), 'Nothing was changed'],
    [new UnreachableError({ url: 'http://na', sent: 'never', systemCode: 'ECONNREFUSED' }), 'chancery authority start'],
    [new UnreachableError({ url: 'http://na', sent: 'never', systemCode: 'ENOTFOUND' }), 'host name'],
    [new UnreachableError({ url: 'http://na', sent: 'perhaps', systemCode: 'TIMEOUT' }), 'may have been carried out'],
    [new UnreachableError({ url: 'http://na', sent: 'perhaps', systemCode: undefined }), 'may have been carried out'],
    [new AnswerError({ status: 200, problem: 'x', requestId: undefined }), 'Something else than a network authority'],
  ])('says what to do: %s', (error, advice) => {
    const explained = explain(error)
    expect(explained.hint).toContain(advice)
    expect(explained.exitCode).toBe(1)
  })

  it('tells a wrong call from a failure', () => {
    expect(explain(misuse('wrong', 'right'))).toEqual({ code: 'usage', message: 'wrong', hint: 'right', exitCode: 2 })
    expect(explain(new Failure({ code: 'x', message: 'failed' }))).toMatchObject({ code: 'x', exitCode: 1 })
    expect(explain(new RequestError('key_id is required'))).toMatchObject({ code: 'usage', exitCode: 2 })
  })

  it('shows where a defect is only when asked', () => {
    expect(explain(new Error('oops')).message).toBe('Unexpected error. Error: oops')
    expect(explain(new Error('oops'), true).message).toContain('explain.test.ts')
  })
})
