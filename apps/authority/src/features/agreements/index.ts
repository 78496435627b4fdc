import { Refusal, agreements } from '@chancery/contract'
import { agreementRecordForm, readReceived, trustAgreement } from '@chancery/protocol'
import type { AgreementRecord, JsonValue, Received } from '@chancery/protocol'
import { bind } from '../../auth/access.ts'
import { accept } from './accept.ts'
import { cosign } from './cosign.ts'
import { counter } from './counter.ts'
import { offer } from './offer.ts'
import { verify } from './verify.ts'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { AgreementsParts } from './parts.ts'
import { readOrRefuse } from '../../requests/read-fields.ts'
import type { Feature } from '../../core.ts'
import { whenClockIsCorrect } from '../../clock/when-correct.ts'
import { purgeOfferMakers } from './queries.ts'
import { writeSortable } from '@chancery/protocol'

/**
 * Reads a presented agreement. An agreement that is not trusted is refused and audited (protocol/trust-operations
 * 3.10). Keys in the request are ignored, because the presenter must not choose the keys that verify the record.
 */
export async function loadTrustedAgreement(
  call: OperatorCall,
  parts: AgreementsParts,
  given: JsonValue,
): Promise<Received<AgreementRecord>> {
  const agreement = readOrRefuse('invalid_agreement', () => readReceived(agreementRecordForm, given))
  const { agreement_id, offerer_sovereign_id, responder_sovereign_id } = agreement.record
  const trust = await trustAgreement(agreement, {
    own: { sovereign_id: parts.network.name, keys: parts.keys.all },
    offerer: await parts.recognitionTreaties.findPartyKeys(offerer_sovereign_id),
    responder: await parts.recognitionTreaties.findPartyKeys(responder_sovereign_id),
  })
  if (trust.ok) return agreement
  const found = { reason: trust.reason, ...(trust.party === undefined ? {} : { party: trust.party }) }
  const named = { route: call.routeId, agreement_id, offerer_sovereign_id, responder_sovereign_id }
  const event = { type: 'agreement_untrusted', details: { ...named, ...found, ...requestDetails(call) } } as const
  await parts.audit.recordAlone([event])
  throw new Refusal('agreement_untrusted', found)
}

export interface Agreements extends Feature {
  loadTrustedAgreement(call: OperatorCall, given: JsonValue): Promise<Received<AgreementRecord>>
}

export function openAgreements(parts: AgreementsParts): Agreements {
  const { clockCheck, database, purgeClock } = parts
  return {
    routes: [
      bind(agreements.offer, (call) => offer(call, parts)),
      bind(agreements.counter, (call) => counter(call, parts)),
      bind(agreements.accept, (call) => accept(call, parts)),
      bind(agreements.cosign, (call) => cosign(call, parts)),
      bind(agreements.verify, (call) => verify(call, parts)),
    ],
    jobs: [
      {
        name: 'purge-offer-makers',
        everySeconds: 600,
        run: whenClockIsCorrect(clockCheck, (signal) =>
          purgeOfferMakers(database, writeSortable(purgeClock.daily.now()), signal),
        ),
      },
    ],
    loadTrustedAgreement: (call, given) => loadTrustedAgreement(call, parts, given),
    close: () => Promise.resolve(),
  }
}
