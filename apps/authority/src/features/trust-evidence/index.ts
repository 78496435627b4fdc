import type { ErrorCode } from '@chancery/contract'
import { writeInstant } from '@chancery/protocol'
import type { TrustEvidence } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { findTrustNow } from '../connectome/index.ts'
import { sealEvidence } from './evidence.ts'

/** What one party would find about the other in our graph now, signed in its place (protocol/trust-operations 2.5). */
export async function issueFinding(
  office: Office,
  parties: { readonly source: string; readonly target: string },
  code: ErrorCode,
): Promise<TrustEvidence> {
  const now = office.clock.now()
  const grounded = await findTrustNow(office, { ...parties, evaluated_at: writeInstant(now) })
  return sealEvidence(office, { ...grounded, issuer_sovereign_id: parties.source, now }, code)
}
