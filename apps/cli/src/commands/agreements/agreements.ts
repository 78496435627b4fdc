import {
  agreementRecordForm,
  capabilityCounterForm,
  capabilityOfferForm,
  hours,
  instantOf,
  verdictOf,
  visible,
  writeInstant,
} from '@chancery/protocol'
import type { AgreementRecord, AgreementTerms } from '@chancery/protocol'
import type { AgreementTermsRequest } from '@chancery/sdk/authority'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { loadJsonObject, loadRecord, recordKind, saveRecord } from '../../files/json-file.ts'
import { timeSpanOrDefault } from '../../arguments/time-span.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Members, type Result, fields } from '../../output/screen.ts'
import { connect, connectAsOperator } from '../../connection/connection.ts'
import { issueRecord } from '../../connection/record-command.ts'

const OFFER = recordKind('a capability offer', 'offer', capabilityOfferForm)
const COUNTER = recordKind('a capability counter', 'counter', capabilityCounterForm)
const AGREEMENT = recordKind('an agreement', 'agreement', agreementRecordForm)

/** Reads the record without verifying it; the authority verifies the signatures. */
export async function loadAgreement(cwd: string, file: string): Promise<AgreementRecord> {
  return (await loadRecord(cwd, file, AGREEMENT)).wire
}

/** The terms given with flags. */
async function readTerms({ cwd, now }: CommandContext, options: Options): Promise<AgreementTermsRequest> {
  const [given, scope] = [options.text('valid-from'), options.text('scope')]
  const from = given === undefined ? now() : readTime(given)
  return {
    capabilities: options.list('capability'),
    ...(scope === undefined ? {} : { scope: await loadJsonObject(cwd, scope) }),
    valid_from: writeInstant(from),
    valid_until: writeInstant(
      from + hours(timeSpanOrDefault(options, 'valid-for', { unit: 'h', min: 1, max: 87_600 })),
    ),
  }
}

function readTime(text: string): bigint {
  try {
    return instantOf(text)
  } catch {
    throw usageError('--valid-from must be a time such as 2030-01-02T03:04:05Z.')
  }
}

function agreementMembers(record: AgreementRecord): Members {
  return [
    ...termMembers(record, record.agreed_terms),
    ['agreement', record.agreement_id],
    ['signed by', record.signatures.map(({ key_id }) => key_id).join(', ')],
  ]
}

function termMembers(
  parties: Pick<AgreementRecord, 'offerer_sovereign_id' | 'responder_sovereign_id'>,
  terms: AgreementTerms,
): Members {
  return [
    ['offerer', parties.offerer_sovereign_id],
    ['responder', parties.responder_sovereign_id],
    ['capabilities', terms.capabilities.join(', ')],
    ['valid', `${terms.valid_from} to ${terms.valid_until}`],
  ]
}

/** Runs `agreement cosign`: the offerer signs what the responder accepted. */
export async function runAgreementCosign(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const agreement = await loadAgreement(context.cwd, args.required('agreement'))
  const { wire: original_offer } = await loadRecord(context.cwd, options.required('offer'), OFFER)
  return issueRecord(context, options, ({ agreements }) => agreements.cosign({ agreement, original_offer }), {
    title: 'Agreed, signed by both:',
    members: agreementMembers,
    id: ({ agreement_id }) => agreement_id,
  })
}

/** Runs `agreement counter`: other terms for an offer, signed for the responder. */
export async function runAgreementCounter(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { wire: offer } = await loadRecord(context.cwd, args.required('offer'), OFFER)
  const terms = await readTerms(context, options)
  return issueRecord(context, options, ({ agreements }) => agreements.counter({ offer, ...terms }), {
    title: 'Countered:',
    members: (record) => [...termMembers(record, record.agreed_terms), ['offer', record.offer_id]],
    id: ({ offer_id }) => offer_id,
  })
}

/** Runs `agreement accept`: creates the record that both parties can show. */
export async function runAgreementAccept(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { record: original, wire: offer } = await loadRecord(cwd, args.required('offer'), OFFER)
  const given = options.text('counter')
  const request =
    given === undefined ? { offer } : { counter: (await loadRecord(cwd, given, COUNTER)).wire, original_offer: offer }
  const connection = await connectAsOperator(context, options)
  const own = (await connection.ask((client) => client.sovereign.metadata())).sovereign_id
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.agreements.accept(request)),
  )
  const text = `${fields(agreementMembers(record), style)}${saved}`
  const isForeign = given === undefined && original.offerer_sovereign_id !== own
  const ids = [record.agreement_id]
  if (!isForeign) return { data: record, ids, text: `${style.good('Agreed:')}\n${text}` }
  const [half, file] = [options.text('out') ?? 'half.json', args.required('offer')]
  const hint = `${visible(original.offerer_sovereign_id)} must sign it, too:\n  chancery agreement cosign ${half} --offer ${file} --out agreement.json`
  return { data: record, ids, text: `${style.good('Accepted, half signed:')}\n${text}\n${hint}` }
}

/** Runs `agreement offer`. With --json it prints the signed offer for the other party. */
export async function runAgreementOffer(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const openHours = timeSpanOrDefault(options, 'expires-in', { unit: 'h', min: 1, max: 8760 })
  const request = {
    ...(await readTerms(context, options)),
    responder_sovereign_id: args.required('responder'),
    expires_at: writeInstant(context.now() + hours(openHours)),
  }
  return issueRecord(context, options, ({ agreements }) => agreements.offer(request), {
    title: 'Offered:',
    members: (record) => {
      const verdict = verdictOf(record.offerer_evidence)
      if (verdict === 'block') context.note('no active treaty recognises this network, so the offer cannot be accepted')
      return [
        ...termMembers(record, record.requested_terms),
        ['offer', record.offer_id],
        ['open until', record.expires_at],
        ['trust', typeof verdict === 'string' ? verdict : '-'],
      ]
    },
    id: ({ offer_id }) => offer_id,
  })
}

const REASONS: Readonly<Record<string, string>> = {
  accepted: 'each party signed it with its own key.',
  accepted_for_both:
    'the key of the authority signed it for a party. Give the keys of both to see whether each signed.',
  missing_offerer_signature: 'it has no signature of the offerer.',
  invalid_offerer_signature: 'no signature is that of a key of the offerer.',
  missing_responder_signature: 'the responder has not signed it.',
  invalid_responder_signature: 'no signature is that of a key of the responder.',
  graph_digest_mismatch:
    'the recognition graph has changed since, and this authority is of a release that does not state the rest. Give the keys of both with --key to verify the signatures.',
  unknown_field: 'it contains a signed field that this release does not support. Update Chancery, or ask the signer.',
  non_canonical_form: 'a member that must be signed is missing.',
  terms_mismatch: 'it claims another end than the one that was signed. Do not use it.',
}

const GRAPH = {
  true: 'The recognition graph of the offerer has changed since it was made. The agreement stays as it was signed.',
  false: 'The recognition graph of the offerer is the one it was made over.',
  null: 'Whether the recognition graph of the offerer has changed since is not known here.',
}

/** `verify` of an agreement at the selected authority, which also knows the graph. */
export async function askAboutAgreement(context: CommandContext, file: string, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { record, wire } = await loadRecord(cwd, file, AGREEMENT)
  const connection = await connect(context, options)
  const verdict = await connection.ask((client) => client.agreements.verify({ agreement: wire }))
  const isGood = verdict.accepted && verdict.in_force !== false
  const title = isGood ? style.good('Valid:') : style.bad(verdict.accepted ? 'Not in force:' : 'Not valid:')
  const isByOwnKeys = verdict.signed_by_both ?? false
  const words = REASONS[verdict.accepted && !isByOwnKeys ? 'accepted_for_both' : verdict.reason]
  const reason = words === undefined ? visible(verdict.reason) : `${words} (${visible(verdict.reason)})`
  const graph = verdict.accepted ? `${GRAPH[`${verdict.graph_changed}`]}\n` : ''
  const text = `${title} ${reason}\n${graph}${fields(termMembers(record, record.agreed_terms), style)}`
  return { data: verdict, text, exitCode: isGood ? 0 : 1 }
}
