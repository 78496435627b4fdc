import { CLOCK_TOLERANCE, type Instant, type JoinCertificate, SECOND, instantOf } from '@chancery/protocol'
import { schedule } from '@chancery/sdk/internal'
import { describeSpan } from '../../output/durations.ts'

/** Results of the checks of a node. */
export interface Findings {
  readonly now: Instant
  readonly certificate: JoinCertificate | undefined
  /** Why the certificate is not this node's; undefined when it is. */
  readonly certificateProblem: string | undefined
  readonly revocation: Revocation
  /** Undefined when the authority responds. */
  readonly authorityProblem: string | undefined
  readonly clockOffsetSeconds: number | undefined
}

export type Revocation =
  | { readonly checked: false; readonly why: string }
  | {
      readonly checked: true
      readonly sequence: number
      /** The list comes from the authority, or from the saved copy of a run. */
      readonly source: 'authority' | 'kept'
      readonly entry: { readonly reason: string; readonly revoked_at: string } | undefined
    }

export type State =
  | 'missing'
  | 'not_ours'
  | 'revoked'
  | 'expired'
  | 'not_yet_valid'
  | 'unchecked'
  | 'expiring'
  | 'valid'

/** The most severe state of a certificate. */
export function stateOf({ now, certificate, certificateProblem, revocation }: Findings): State {
  if (certificate === undefined) return 'missing'
  const life = { issuedAt: instantOf(certificate.issued_at), expiresAt: instantOf(certificate.expires_at) }
  // The authority grants no tolerance at the end of validity, so this check grants none.
  if (now >= life.expiresAt) return 'expired'
  if (now < life.issuedAt - CLOCK_TOLERANCE) return 'not_yet_valid'
  if (certificateProblem !== undefined) return 'not_ours'
  if (!revocation.checked) return 'unchecked'
  if (revocation.entry !== undefined) return 'revoked'
  return now >= schedule.renewalDue(life) ? 'expiring' : 'valid'
}

/** With a larger offset the authority refuses every proof. */
const CLOCK_LIMIT_SECONDS = Number(CLOCK_TOLERANCE / SECOND)
/** From this offset on the status shows it. */
const CLOCK_WARNING_SECONDS = 30

export function clockState(offset: number | undefined): 'unknown' | 'good' | 'off' | 'wrong' {
  if (offset === undefined) return 'unknown'
  if (Math.abs(offset) > CLOCK_LIMIT_SECONDS) return 'wrong'
  return Math.abs(offset) > CLOCK_WARNING_SECONDS ? 'off' : 'good'
}

export interface NextStep {
  /** False when something must be done before the node can work. */
  readonly ok: boolean
  readonly next: string
}

const NEW_INVITE = 'ask an operator for an invite (chancery invite create), then'

/** Returns what to do, the most urgent first. `home` is the folder as written in a command. */
export function findNextStep(findings: Findings, home: string): NextStep {
  const state = stateOf(findings)
  const clock = clockState(findings.clockOffsetSeconds)
  const join = `${NEW_INVITE}: chancery join ${home}`
  if (clock === 'wrong')
    return { ok: false, next: 'correct the clock of this machine: the authority refuses every proof until then' }
  switch (state) {
    case 'missing':
      return { ok: false, next: join }
    case 'not_ours':
      return { ok: false, next: `do not use this certificate; ${join}` }
    case 'revoked':
      return { ok: false, next: `ask an operator why it was revoked; to join again, ${join}` }
    case 'expired':
      return {
        ok: false,
        next: `it cannot be renewed; chancery node run joins again if the authority admits expired certificates, otherwise ${join}`,
      }
    case 'not_yet_valid':
      return { ok: false, next: 'correct the clock of this machine: the certificate is not valid yet' }
    case 'unchecked':
    case 'expiring':
    case 'valid':
      break
  }
  const known = state === 'unchecked' ? 'whether the certificate is revoked is not known' : 'the certificate is valid'
  if (findings.authorityProblem !== undefined)
    return { ok: false, next: `find out why the authority does not respond; ${known}` }
  if (state === 'unchecked') return { ok: false, next: `inform the operator of the authority: ${known}` }
  if (state === 'expiring')
    return { ok: true, next: `node renew it now: chancery node renew ${home}, or run chancery node run` }
  if (clock === 'off') return { ok: true, next: 'correct the clock of this machine' }
  return { ok: true, next: `nothing; to stay in the network, run: chancery node run ${home}` }
}

export function describeState(findings: Findings): string {
  const { certificate, now, certificateProblem, revocation } = findings
  const until = certificate === undefined ? 0n : instantOf(certificate.expires_at)
  const end = `until ${certificate?.expires_at ?? ''} (${describeSpan(until > now ? until - now : 0n)} left)`
  const entry = revocation.checked ? revocation.entry : undefined
  return {
    missing: 'none',
    not_ours: `not usable: ${certificateProblem ?? ''}`,
    revoked: `revoked (${entry?.reason ?? ''}, ${entry?.revoked_at ?? ''})`,
    expired: `expired at ${certificate?.expires_at ?? ''}`,
    not_yet_valid: `valid only from ${certificate?.issued_at ?? ''}`,
    unchecked: `signed and valid ${end}, revocation not checked`,
    expiring: `valid ${end}, time to renew`,
    valid: `valid ${end}`,
  }[stateOf(findings)]
}

export function describeClock(offset: number | undefined): string {
  const state = clockState(offset)
  if (offset === undefined || state === 'unknown') return 'not compared'
  if (state === 'good') return Math.abs(offset) <= 2 ? 'agrees with the authority' : `${signed(offset)} the authority`
  return `${signed(offset)} the authority${state === 'wrong' ? ': too far' : ''}`
}

function signed(offset: number): string {
  return `${Math.round(Math.abs(offset))} s ${offset > 0 ? 'ahead of' : 'behind'}`
}
