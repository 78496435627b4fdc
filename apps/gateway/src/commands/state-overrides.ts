import { sha256Hex } from '@chancery/protocol'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { appendEvents } from '../state/audit-log.ts'
import { releaseWithdrawn, setSuspect } from '../state/checkpoints.ts'
import { inTransaction } from '../state/state-file.ts'
import { StateError } from '../state/state-error.ts'
import { operatorEvent } from '../audit/operator-event.ts'
import { TOOLS, type ToolResult, changeState, done } from './state-command.ts'

export interface OverrideArguments {
  readonly network: string
  readonly issuer: string
  /** Stored in the audit, so that the override can be reviewed later. */
  readonly reason: string
}

/** `state clear-suspect`: clears the mark after an operator has checked the two lists of an authority. */
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

/** `state release-revocation`: accepts a certificate again that a later list no longer names. */
export async function releaseRevocation(
  settings: GatewaySettings,
  args: OverrideArguments & { readonly certificateId: string },
): Promise<ToolResult> {
  const { network, issuer, reason, certificateId } = args
  await changeState(settings, (db) =>
    inTransaction(db, () => {
      if (!releaseWithdrawn(db, network, issuer, certificateId)) {
        throw new StateError('this certificate is not a withdrawn revocation; the current list cannot be overridden')
      }
      const facts = { network, issuer, certificate_digest: sha256Hex(certificateId), reason }
      appendEvents(db, [operatorEvent('revocation_released', facts, TOOLS)])
    }),
  )
  return done({ network, issuer }, 'The revocation was released.')
}
