import { Refusal } from '@chancery/contract'
import { type AgreementRecord, agreementRecordForm, checkCosignable } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import type { AgreementsParts } from './accept.ts'
import { readCosignRequest } from './requests.ts'

const REJECTED = 'cosign_rejected'

/**
 * POST /admin/agreements/cosign
 * Adds the signature of this authority, the offerer, to an agreement that the responder accepted. The rest of the
 * record stays as received. A record that already has the signature is returned with 200.
 */
export async function cosign(call: OperatorCall, parts: AgreementsParts): Promise<HttpResponse> {
  const { agreement, offer } = readCosignRequest(call.body)
  const { agreement_id, offer_id, offerer_sovereign_id, responder_sovereign_id, agreed_terms } = agreement.record
  const verdict = await checkCosignable(agreement, offer, {
    own: { sovereign_id: parts.network.name, keys: parts.keys.all },
    responderKeys: (await parts.recognitionTreaties.findPartyKeys(responder_sovereign_id)).keys,
    now: parts.clock.now(),
  })
  if (!verdict.ok) throw new Refusal(REJECTED, { reason: verdict.reason })
  return issueRecord(call, parts, async () => {
    if (verdict.isSigned) return { existing: agreement.wire }
    // Unsigned members stay, too: the record is returned as received.
    const received = agreement.wire as unknown as AgreementRecord
    const record = await parts.signing.signFormOr(REJECTED, agreementRecordForm, received)
    const { capabilities } = agreed_terms
    const details = { agreement_id, offer_id, offerer_sovereign_id, responder_sovereign_id, capabilities }
    return { record, type: 'agreement_cosigned', details }
  })
}
