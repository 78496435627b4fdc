import { describe, expect, it } from 'vitest'
import { Endpoints, type RetryDelay, type RetryOptions, canRetry, withRetry } from './retry.ts'
import { type RefusalCode, RefusedError, ResponseError, UnreachableError } from '../errors.ts'

function refused(status: number, code: RefusalCode, more: Partial<RefusedError> = {}): RefusedError {
  return new RefusedError({
    status,
    code,
    message: code,
    details: more.details ?? {},
    requestId: undefined,
    retryAfterSeconds: more.retryAfterSeconds,
    clockOffsetSeconds: undefined,
    outcomeUncertain: more.outcomeUncertain ?? false,
  })
}

function unreachable(sent: 'never' | 'perhaps', systemCode: string | undefined): UnreachableError {
  return new UnreachableError({ url: 'http://na', sent, systemCode })
}

const answer = new ResponseError({ status: 503, problem: 'html', requestId: undefined })

describe('canRetry', () => {
  it.each([
    ['a connection never made', unreachable('never', 'ECONNREFUSED'), true, true],
    ['a broken connection', unreachable('perhaps', 'ECONNRESET'), true, false],
    ['a time budget used up', unreachable('perhaps', 'TIMEOUT'), false, false],
    ['a wrong certificate', unreachable('perhaps', 'CERT_HAS_EXPIRED'), false, false],
    ['429', refused(429, 'rate_limit_exceeded'), true, true],
    ['503', refused(503, 'service_unavailable'), true, true],
    ['503 of unknown outcome', refused(503, 'service_unavailable', { details: { outcome: 'unknown' } }), true, false],
    ['503 that says it is uncertain', refused(503, 'unavailable', { outcomeUncertain: true }), true, false],
    ['429 that says it is uncertain', refused(429, 'rate_limited', { outcomeUncertain: true }), true, false],
    ['contention of unknown outcome', refused(409, 'crl_publish_contention', { outcomeUncertain: true }), true, false],
    ['contention for the list', refused(409, 'crl_publish_contention'), true, true],
    ['contention for a version', refused(409, 'boundary_policy_version_conflict'), true, true],
    ['contention for an activation', refused(409, 'boundary_policy_activation_conflict'), true, true],
    ['retention that runs', refused(409, 'retention_in_progress'), true, true],
    ['another conflict', refused(409, 'conflict'), false, false],
    ['a failed authentication', refused(401, 'admin_auth_failed'), false, false],
    ['500', refused(500, 'internal_server_error'), false, false],
    ['503 of a proxy', answer, true, false],
    ['a bug', new Error('bug'), false, false],
  ])('%s', (_name, error, whenRepeatable, otherwise) => {
    expect([canRetry(error, true), canRetry(error, false)]).toEqual([whenRepeatable, otherwise])
  })
})

async function run(
  error: Error,
  options: RetryOptions = {},
  succeedAt = Infinity,
): Promise<{ delays: RetryDelay[]; attempts: number; slept: number[] }> {
  const delays: RetryDelay[] = []
  const slept: number[] = []
  let attempts = 0
  const attempt = (): Promise<string> => {
    attempts += 1
    return attempts >= succeedAt ? Promise.resolve('done') : Promise.reject(error)
  }
  const parts = {
    random: () => 0.5,
    sleep: (ms: number) => {
      slept.push(ms)
      return Promise.resolve()
    },
    elapsedMs: () => 0,
  }
  await withRetry(
    attempt,
    {
      options: { ...options, onRetry: (delay) => delays.push(delay) },
      repeatable: false,
      endpoints: new Endpoints('http://na'),
      budgetMs: 1_000_000,
      signal: undefined,
    },
    parts,
  ).catch(() => undefined)
  return { delays, attempts, slept }
}

describe('withRetry', () => {
  it('makes five attempts with doubling random pauses', async () => {
    const { attempts, slept } = await run(unreachable('never', 'ECONNREFUSED'))
    expect(attempts).toBe(5)
    expect(slept).toEqual([100, 200, 400, 800])
  })

  it('stops at the first success', async () => {
    expect((await run(refused(503, 'service_unavailable'), {}, 3)).attempts).toBe(3)
  })

  it('waits as long as the authority asks', async () => {
    const { slept } = await run(refused(429, 'rate_limit_exceeded', { retryAfterSeconds: 7 }), {}, 2)
    expect(slept).toEqual([7000])
  })

  it('gives up when it would have to wait too long', async () => {
    const { attempts, slept } = await run(refused(429, 'rate_limit_exceeded', { retryAfterSeconds: 60 }), {
      maxWaitMs: 100_000,
    })
    expect([attempts, slept]).toEqual([2, [60_000]])
  })

  it('reports why it waits', async () => {
    const { delays: pauses } = await run(refused(429, 'rate_limit_exceeded', { retryAfterSeconds: 1 }), {}, 2)
    expect(pauses).toMatchObject([{ attempt: 1, waitMs: 1000, error: { code: 'rate_limit_exceeded' } }])
  })

  it('is off with one attempt', async () => {
    expect((await run(unreachable('never', 'ECONNREFUSED'), { attempts: 1 })).attempts).toBe(1)
  })

  it('ends a pause when the caller aborts', async () => {
    const controller = new AbortController()
    const work = withRetry(() => Promise.reject(refused(429, 'unknown_code', { retryAfterSeconds: 60 })), {
      options: {},
      repeatable: true,
      endpoints: new Endpoints('http://na'),
      budgetMs: 1_000_000,
      signal: controller.signal,
    })
    setTimeout(() => controller.abort(new Error('enough')), 20)
    await expect(work).rejects.toThrow('enough')
  })
})
