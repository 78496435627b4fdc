import {
  agreementRecordForm,
  capabilityCounterForm,
  capabilityOfferForm,
  hours,
  instantOf,
  readReceived,
  writeInstant,
} from '@chancery/protocol'
import type {
  AgreementRecord,
  AgreementTerms,
  CapabilityCounter,
  CapabilityOffer,
  RecordForm,
} from '@chancery/protocol'
import type { AgreementTermsRequest } from '@chancery/sdk'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { loadJsonObject, loadRecord } from '../../files/json-file.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Options } from '../../arguments/options.ts'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'

/** Reads the record without verifying it; the authority verifies the signatures. */
function whole<Value>(form: RecordForm<Value>): (value: Parameters<typeof readReceived>[1]) => Value {
  return (value) => readReceived(form, value).wire as Value
}

export function loadOffer(cwd: string, file: string): Promise<CapabilityOffer> {
  return loadRecord(cwd, file, { name: 'a capability offer', member: 'offer', read: whole(capabilityOfferForm) })
}

export function loadCounter(cwd: string, file: string): Promise<CapabilityCounter> {
  return loadRecord(cwd, file, { name: 'a capability counter', member: 'counter', read: whole(capabilityCounterForm) })
}

export function loadAgreement(cwd: string, file: string): Promise<AgreementRecord> {
  return loadRecord(cwd, file, { name: 'an agreement', member: 'agreement', read: whole(agreementRecordForm) })
}

/** The terms given with flags. */
export async function readTerms({ cwd, now }: CommandContext, options: Options): Promise<AgreementTermsRequest> {
  const [given, scope] = [options.text('valid-from'), options.text('scope')]
  const from = given === undefined ? now() : readTime(given)
  return {
    capabilities: options.list('capability'),
    ...(scope === undefined ? {} : { scope: await loadJsonObject(cwd, scope) }),
    valid_from: writeInstant(from),
    valid_until: writeInstant(from + hours(wholeNumberOrDefault(options, 'valid-hours', 1, 87_600))),
  }
}

function readTime(text: string): bigint {
  try {
    return instantOf(text)
  } catch {
    throw usageError('--valid-from must be a time such as 2030-01-02T03:04:05Z.')
  }
}

export function describeAgreement(record: AgreementRecord, style: Style): string {
  const more = [
    ['agreement', record.agreement_id],
    ['signed by', record.signatures.map(({ key_id }) => key_id).join(', ')],
  ] as const
  return describeTerms(record, record.agreed_terms, style, more)
}

export function describeTerms(
  parties: { readonly offerer_sovereign_id: string; readonly responder_sovereign_id: string },
  terms: AgreementTerms,
  style: Style,
  more: readonly (readonly [string, string])[] = [],
): string {
  return fields(
    [
      ['offerer', parties.offerer_sovereign_id],
      ['responder', parties.responder_sovereign_id],
      ['capabilities', terms.capabilities.join(', ')],
      ['valid', `${terms.valid_from} to ${terms.valid_until}`],
      ...more,
    ],
    style,
  )
}
