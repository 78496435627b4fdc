import { visible } from '@chancery/protocol'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/public-keys.ts'
import { describeTerms, loadAgreement } from './records.ts'

const REASONS: Readonly<Record<string, string>> = {
  accepted: 'each party signed it with its own key.',
  accepted_for_both:
    'the key of the authority signed it for a party. Give the keys of both to see whether each signed.',
  missing_offerer_signature: 'it has no signature of the offerer.',
  invalid_offerer_signature: 'no signature is that of a key of the offerer.',
  missing_responder_signature: 'the responder has not signed it.',
  invalid_responder_signature: 'no signature is that of a key of the responder.',
  graph_digest_mismatch:
    'the recognition graph has changed since, and this authority is of a release that does not state the rest. Give --offerer-key to verify the signatures.',
  unknown_field: 'it contains a signed field that this release does not support. Update Chancery, or ask the signer.',
  non_canonical_form: 'a member that must be signed is missing.',
  terms_mismatch: 'it claims another end than the one that was signed. Do not use it.',
}

const GRAPH = {
  true: 'The recognition graph of the offerer has changed since it was made. The agreement stays as it was signed.',
  false: 'The recognition graph of the offerer is the one it was made over.',
  null: 'Whether the recognition graph of the offerer has changed since is not known here.',
}

/** Runs `agreement verify`; the exit code is 1 when the agreement is not valid, or not in force. */
export async function runAgreementVerify(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const agreement = await loadAgreement(cwd, args.required('file'))
  const offerer = await loadPublicKeys(cwd, options, 'offerer-key')
  const responder = await loadPublicKeys(cwd, options, 'responder-key')
  // At the authority one signature counts for both parties when their keys are the same.
  if (offerer?.some((key) => responder?.includes(key)) === true)
    throw usageError('--offerer-key and --responder-key name the same key. Give each party its own.')
  const request = {
    agreement,
    ...(offerer === undefined ? {} : { offerer_public_keys: offerer }),
    ...(responder === undefined ? {} : { responder_public_keys: responder }),
  }
  const connection = await connect(context, options)
  const verdict = await connection.ask((client) => client.agreements.verify(request))
  const isGood = verdict.accepted && verdict.in_force !== false
  const title = isGood ? style.good('Valid:') : style.bad(verdict.accepted ? 'Not in force:' : 'Not valid:')
  // Without the statement, of an earlier release: by own keys only if both were given.
  const isByOwnKeys = verdict.signed_by_both ?? (offerer !== undefined && responder !== undefined)
  const words = REASONS[verdict.accepted && !isByOwnKeys ? 'accepted_for_both' : verdict.reason]
  const reason = words === undefined ? visible(verdict.reason) : `${words} (${visible(verdict.reason)})`
  const graph = verdict.accepted ? `${GRAPH[`${verdict.graph_changed}`]}\n` : ''
  const text = `${title} ${reason}\n${graph}${describeTerms(agreement, agreement.agreed_terms, style)}`
  return { data: verdict, text, exitCode: isGood ? 0 : 1 }
}
