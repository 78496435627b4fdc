import { Refusal, type RefusalCode } from '@chancery/contract'
import {
  agreementRecordForm,
  capabilityOfferForm,
  field,
  form,
  readReceived,
  shape,
  writeInstant,
} from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { readOrRefuse, readTime, requirePresent } from '../../requests/read-fields.ts'

const names = form.listOf(field.label, { min: 1 }).read

/** protocol/trust-operations 3.6, checks in the order of its table. */
export function readOfferRequest(body: JsonObject) {
  const code = 'missing_offer_fields'
  const responder_sovereign_id = readOrRefuse(code, () =>
    field.identifier(body['responder_sovereign_id'] ?? null, 'responder_sovereign_id'),
  )
  const wanted = readRequested(body, code)
  const times = ['valid_from', 'valid_until', 'expires_at'].map((name) => readTime(body, name))
  const window = orderWindow(times)
  return { responder_sovereign_id, terms: { ...wanted, ...window }, expires_at: writeInstant(times[2] ?? 0n) }
}

/** protocol/trust-operations 3.7, checks in the order of its first table. */
export function readCounterRequest(body: JsonObject) {
  const given = requirePresent(body, 'offer', 'missing_counter_fields')
  const wanted = readRequested(body, 'missing_counter_fields')
  const offer = readOrRefuse('invalid_offer', () => readReceived(capabilityOfferForm, given))
  const window = orderWindow(['valid_from', 'valid_until'].map((name) => readTime(body, name)))
  return { offer, terms: { ...wanted, ...window } }
}

/** protocol/trust-operations 3.11, checks 1 and 2. */
export function readCosignRequest(body: JsonObject) {
  const agreed = requirePresent(body, 'agreement', 'missing_cosign_fields')
  const offered = requirePresent(body, 'original_offer', 'missing_cosign_fields')
  return {
    agreement: readOrRefuse('invalid_agreement', () => readReceived(agreementRecordForm, agreed)),
    offer: readOrRefuse('invalid_offer', () => readReceived(capabilityOfferForm, offered)),
  }
}

function readRequested(body: JsonObject, code: RefusalCode) {
  return readOrRefuse(code, () => ({
    capabilities: names(body['capabilities'] ?? null, 'capabilities'),
    scope: shape.object(body['scope'] ?? {}, 'scope'),
  }))
}

function orderWindow([from = 0n, until = 0n]: readonly Instant[]): { valid_from: string; valid_until: string } {
  if (from >= until) throw new Refusal('invalid_timestamp_order')
  return { valid_from: writeInstant(from), valid_until: writeInstant(until) }
}
