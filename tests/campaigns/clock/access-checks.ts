import { randomUUID } from 'node:crypto'
import { DAY, hours, type Instant, seconds, writeInstant } from '@chancery/protocol'
import { accepted, createInvite, send, type TestAuthority } from '@chancery/testkit'
import { type Check, isWithinTolerance, loggedEvents, QUIET_READS_PER_MINUTE, text, TOLERANCE } from './setup.ts'

const DIFFERS = 'clock differs from the database clock'
const OFF = 'clock is not compared with the database clock'
/** A comparison takes time while the clock runs, so no skew may be within a second above a bound. */
const GRAIN = 3_300_000n
const SMALL = 1_700_000n

let published = 0
const policy = (): { policy_id: string } => ({ policy_id: `watched-${(published += 1)}` })

/**
 * Reliability 8: an offset over two seconds from the database gives a warning, over thirty stops signing, and a jump
 * over five seconds is compared at once. With the check off, no jump stops signing, and the start logs this.
 */
const comparison: Check = {
  name: 'comparison with the database',
  async prepare(setup, compare) {
    const { na: rehearsing, watched } = setup
    const { na, clock, lines } = watched
    const { clockCheck } = na.core
    clock.skew = 0n
    await clockCheck.check()
    compare(
      'switched off, said at the start',
      true,
      setup.lines.some((line) => line.includes(OFF)),
    )
    return {
      async atRest() {
        const [before, skew] = [clock.skew, coarse(setup.skew)]
        clock.skew = skew
        // No wait since the move, so no comparison was made yet.
        const isJump = size(skew - before) > seconds(5)
        compare('halted at the jump', isJump || isOff(before), clockCheck.isHalted())
        await clockCheck.check()
        compare('halted', isOff(skew), clockCheck.isHalted())
        const said = lines.length
        await clockCheck.check()
        const isWarned = lines.slice(said).some((line) => line.includes(DIFFERS))
        compare('warned', size(skew) > seconds(2), isWarned)
        compare(
          'ready',
          isOff(skew) ? '503 service_not_ready' : '200',
          loggedEvents(await na.request('GET', '/readyz')),
        )
        const answer = await na.as('privileged')('POST', '/admin/policy', policy())
        compare('signing', isOff(skew) ? '503 service_unavailable' : '201', loggedEvents(answer))
        compare('switched off, ready', '200', loggedEvents(await rehearsing.request('GET', '/readyz')))
        const signed = await rehearsing.as('privileged')('POST', '/admin/policy', policy())
        compare('switched off, signing', '201', loggedEvents(signed))
      },
    }
  },
}

function isOff(skew: Instant): boolean {
  return size(skew) > seconds(30)
}

function coarse(skew: Instant): Instant {
  if (size(skew) <= SMALL) return skew
  const grains = (size(skew) + GRAIN / 2n) / GRAIN
  return (grains === 0n ? 1n : grains) * (skew < 0n ? -GRAIN : GRAIN)
}

function size(value: Instant): Instant {
  return value < 0n ? -value : value
}

export const CLOCK_CHECK_CHECKS: readonly Check[] = [comparison]

const READ = '/admin/policy/history'
const REFUSED = '401 admin_auth_failed'

/** protocol/core 11.3, check 9. */
const operatorStamp: Check = {
  name: 'timestamp of an operator',
  async prepare(setup, compare) {
    const call = async (signedAt: bigint): Promise<string> =>
      loggedEvents(await setup.na.as('standard')('GET', READ, undefined, { timestamp: writeInstant(signedAt) }))
    return {
      async verify() {
        const { made, now } = setup
        compare('signed when the facts were made', isWithinTolerance(made, now) ? '200' : REFUSED, await call(made))
        compare('the oldest that counts', '200', await call(now - TOLERANCE))
        compare('one older', REFUSED, await call(now - TOLERANCE - 1n))
        compare('the farthest ahead that counts', '200', await call(now + TOLERANCE))
        compare('one farther ahead', REFUSED, await call(now + TOLERANCE + 1n))
      },
    }
  },
}

/** protocol/core 11.3, check 11: a spent nonce stays spent, whatever the clock shows later. */
const operatorNonce: Check = {
  name: 'spent nonce of an operator',
  async prepare(setup, compare) {
    const [timestamp, nonce] = [writeInstant(setup.made), `spent-${randomUUID()}`]
    const call = async (): Promise<string> =>
      loggedEvents(await setup.na.as('standard')('GET', READ, undefined, { timestamp, nonce }))
    compare('the first time', '200', await call())
    return { atRest: async () => compare('again', REFUSED, await call()) }
  },
}

/** protocol/core 5.1. */
const nodeProof: Check = {
  name: 'proof of a node',
  async prepare(setup, compare) {
    const [{ node, cert_id }, joining] = [await setup.oldNode(), await setup.newNode()]
    const [kept, spent] = [await node.prove({ cert_id }), await node.prove({ cert_id })]
    const invite_token = await createInvite(setup.na, { token_expiry_hours: 720 })
    const join = await joining.prove({ invite_token })
    const post = async (target: string, body: typeof kept): Promise<string> =>
      loggedEvents(await send(setup.na.url, 'POST', target, { body }))
    compare('sent at once', '200', await post('/heartbeat', spent))
    return {
      atRest: async () => compare('sent a second time', '401 node_auth_failed', await post('/heartbeat', spent)),
      async verify() {
        const isFresh = isWithinTolerance(setup.made, setup.now)
        compare('sent late', isFresh ? '200' : '401 node_auth_failed', await post('/heartbeat', kept))
        // The invite is checked first. It expires after the proof in all but the longest patterns.
        const isInvited = setup.now <= setup.made + hours(720)
        const refusal = isInvited ? '401 node_auth_failed' : '403 invalid_invite_token'
        compare('joined late', isFresh ? '201' : refusal, await post('/join', join))
      },
    }
  },
}

/** protocol/core 5.2, check 7, and 6. */
const inviteLife: Check = {
  name: 'life of an invite',
  async prepare(setup, compare) {
    const life = setup.random.pick([1, 24])
    const [node, token] = [await setup.newNode(), await createInvite(setup.na, { token_expiry_hours: life })]
    return {
      async verify() {
        const { made, now } = setup
        const isUsable = now <= made + hours(life)
        const answer = await node.join(token, { validity_hours: 2 })
        compare(`of ${life} h`, isUsable ? '201' : '403 invalid_invite_token', loggedEvents(answer))
        if (!isUsable) return
        const certificate = accepted(answer, 201)
        compare('issued_at of the certificate', writeInstant(now), text(certificate, 'issued_at'))
        compare('its end', writeInstant(now + hours(2)), text(certificate, 'expires_at'))
      },
    }
  },
}

/** Reliability 5.2: a response is stored for a day. It is not purged because a clock was ahead for a while. */
const idempotencyKey: Check = {
  name: 'life of an idempotency key',
  async prepare(setup, compare) {
    const key = randomUUID()
    const issue = async (na: TestAuthority): Promise<string> => {
      const body = { subject_id: 'repeated@clock', roles: ['role:client'] }
      const options = { headers: { 'idempotency-key': key } }
      return text(
        accepted(await na.as('privileged')('POST', '/admin/attestations', body, options), 201),
        'attestation_id',
      )
    }
    const first = await issue(setup.na)
    return {
      async verify() {
        const isKept = setup.now < setup.made + DAY
        compare('the first answer is given again', isKept, (await issue(setup.na)) === first)
      },
    }
  },
}

/** protocol/core 21: a moved wall clock neither opens nor closes a rate limit window. */
const limiterWindow: Check = {
  name: 'window of a limiter',
  async prepare(setup, compare) {
    // The record does not exist, but the read is counted.
    const [within, over] = ['404 no_policy', '429 rate_limit_exceeded']
    const read = async (): Promise<string> =>
      loggedEvents(await setup.quiet.request('GET', '/data-usage/policy', { from: '127.0.0.9' }))
    for (let call = 0; call < QUIET_READS_PER_MINUTE; call += 1) compare('within the limit', within, await read())
    compare('over the limit', over, await read())
    return { verify: async () => compare('later', setup.passed >= 60_000_000n ? within : over, await read()) }
  },
}

export const ACCESS_CHECKS: readonly Check[] = [
  operatorStamp,
  operatorNonce,
  nodeProof,
  inviteLife,
  idempotencyKey,
  limiterWindow,
]
