import { sha256Hex } from '@chancery/protocol'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { appendEvents } from '../state/audit-log.ts'
import { releaseWithdrawn, setSuspect } from '../state/checkpoints.ts'
import { inTransaction } from '../state/state-file.ts'
import { StateError } from '../state/state-problem.ts'
import { operatorEvent } from '../audit/operator-event.ts'
import { TOOLS, changeState, done } from './state-command.ts'
import type { ToolResult } from './state-command.ts'

export interface OverrideArguments {
  readonly network: string
  readonly issuer: string
  /** Kept in the audit: an override without a reason is a mistake nobody can judge later. */
  readonly reason: string
}

/** `state clear-suspect`: an operator has looked at the two histories of an authority. */
export async function clearSuspect(settings: GatewaySettings, args: OverrideArguments): Promise<ToolResult> {
  const { network, issuer, reason } = args
  await changeState(settings, (db) =>
    inTransaction(db, () => {
      if (!setSuspect(db, network, issuer, false)) throw new StateError('there is no checkpoint of this issuer')
      appendEvents(db, [operatorEvent('suspect_cleared', { network, issuer, reason }, TOOLS)])
    }),
  )
  return done({ network, issuer }, `The issuer ${issuer} of ${network} is no longer suspect.`)
}

/** `state release-revocation`: a certificate a later list left out may be trusted again. */
export async function releaseRevocation(
  settings: GatewaySettings,
  args: OverrideArguments & { readonly certificateId: string },
): Promise<ToolResult> {
  const { network, issuer, reason, certificateId } = args
  await changeState(settings, (db) =>
    inTransaction(db, () => {
      if (!releaseWithdrawn(db, network, issuer, certificateId)) {
        throw new StateError('this certificate is not a withdrawn revocation; a list in force cannot be overruled')
      }
      const facts = { network, issuer, certificate_digest: sha256Hex(certificateId), reason }
      appendEvents(db, [operatorEvent('revocation_released', facts, TOOLS)])
    }),
  )
  return done({ network, issuer }, 'The revocation was released.')
}
