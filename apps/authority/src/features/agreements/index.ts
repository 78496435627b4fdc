import { Refusal } from '@chancery/contract'
import { agreementRecordForm, readReceived, trustAgreement } from '@chancery/protocol'
import type { AgreementRecord, JsonValue, Received } from '@chancery/protocol'
import { causedBy, recordAudit } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readOr } from '../../reading.ts'
import { vouchedKeys } from '../recognition-treaties/index.ts'

/**
 * Reads a presented agreement and refuses one this authority has no ground to trust, telling so in the audit trail
 * (protocol/trust-operations 3.10). Keys of the request are never looked at: whoever presents a paper must not choose
 * by whose key it is judged.
 */
export async function loadTrustedAgreement(
  call: OperatorCall,
  office: Office,
  given: JsonValue,
): Promise<Received<AgreementRecord>> {
  const agreement = readOr('invalid_agreement', () => readReceived(agreementRecordForm, given))
  const { agreement_id, offerer_sovereign_id, responder_sovereign_id } = agreement.record
  const trust = await trustAgreement(agreement, {
    own: { sovereign_id: office.genesis.network_name, keys: office.ownKeys.all },
    offerer: await vouchedKeys(office, offerer_sovereign_id),
    responder: await vouchedKeys(office, responder_sovereign_id),
  })
  if (trust.ok) return agreement
  const found = { reason: trust.reason, ...(trust.party === undefined ? {} : { party: trust.party }) }
  const named = { route: call.routeId, agreement_id, offerer_sovereign_id, responder_sovereign_id }
  const event = { type: 'agreement_untrusted', details: { ...named, ...found, ...causedBy(call) } } as const
  await recordAudit(office.store.db, office, event)
  throw new Refusal('agreement_untrusted', found)
}
