import type { TrustDecision } from '@chancery/protocol'
import { ChanceryError } from '../errors.ts'

/** A certificate was not trusted; `reasons` and `findings` state why. */
export class UntrustedError extends ChanceryError {
  override readonly name: string = 'UntrustedError'
  readonly reasons: readonly string[]
  readonly findings: TrustDecision['findings']

  constructor({ reasons, findings }: Pick<TrustDecision, 'reasons' | 'findings'>) {
    super(`The certificate is not trusted: ${reasons.join(', ')}`)
    this.reasons = reasons
    this.findings = findings
  }
}

/** A decision with an explicit check: a response is not trust, only `trusted` is. */
export type TrustVerdict = TrustDecision & {
  /** Throws {@link UntrustedError} unless the certificate is trusted. */
  assertTrusted(): void
}

export function toVerdict(decision: TrustDecision): TrustVerdict {
  return {
    ...decision,
    assertTrusted() {
      if (!decision.trusted) throw new UntrustedError(decision)
    },
  }
}
