import { boundaryDecisionForm, consensusForm, isJsonObject, justificationForm, voteForm } from '@chancery/protocol'
import type { ConsensusProof, JsonObject, ValidatorVote } from '@chancery/protocol'
import { loadJsonObject, loadRecord, recordKind } from '../../files/json-file.ts'
import type { Members, Result } from '../../output/screen.ts'
import { issueRecord } from '../../connection/record-command.ts'
import type { CommandContext } from '../../context.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import { loadKeysByName } from '../../files/named-keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/keys.ts'

const JUSTIFICATION = recordKind('a justification proof', 'justification_proof', justificationForm)
const DECISION = recordKind('a boundary decision', 'decision', boundaryDecisionForm)
// A vote has a member of this name itself, which is never an object.
const VOTE = recordKind('a validator vote', 'vote', voteForm)
const CONSENSUS = recordKind('a consensus proof', 'proof', consensusForm)

function voteMembers(vote: ValidatorVote): Members {
  return [
    ['vote', vote.vote_id],
    ['says', vote.vote ? 'approve' : 'reject'],
    ['validator', vote.validator_sovereign_id],
    ['proof', vote.proof_id],
    ['decision', vote.decision_id],
    ['reason', vote.reason ?? '-'],
    ['cast', vote.voted_at],
  ]
}

function consensusMembers(proof: ConsensusProof): Members {
  const approving = new Set(proof.votes.filter(({ vote }) => vote).map((vote) => vote.validator_sovereign_id))
  return [
    ['consensus', proof.consensus_id],
    ['proof', proof.proof_id],
    ['decision', proof.decision_id],
    ['approving', [...approving].join(', ') || '-'],
    ['needed', `${proof.required_threshold} of ${new Set(proof.validator_sovereign_ids).size}`],
    ['until', proof.expires_at],
  ]
}

/** Runs `record tally`. With --json it prints the signed proof. */
export async function runRecordTally(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd } = context
  const { wire } = await loadRecord(cwd, args.required('justification'), JUSTIFICATION)
  const votes = await Promise.all(args.list('votes').map((file) => loadRecord(cwd, file, VOTE)))
  const validatorKeys = await loadKeysByName(cwd, options)
  const request = {
    justification_proof: wire,
    votes: votes.map((vote) => vote.wire),
    required_threshold: wholeNumberOrDefault(options, 'threshold', 1, 1024),
    validator_sovereign_ids: options.list('validator'),
    ...(Object.keys(validatorKeys).length === 0 ? {} : { validator_public_keys: validatorKeys }),
  }
  const shown = { title: 'Assembled:', members: consensusMembers }
  return issueRecord(context, options, ({ consensus }) => consensus.proof(request), shown)
}

/** Texts for the reasons of protocol/trust-operations 8.6. */
export const CONSENSUS_REASONS: Readonly<Record<string, string>> = {
  valid: 'enough independent validators approved.',
  missing_signature: 'its assembler did not sign it.',
  invalid_assembler_signature: 'no given key assembled it, or it was changed since. Do not use it.',
  proof_id_mismatch: 'it contains a vote on another justification.',
  invalid_vote_signature: 'it contains a vote that is unsigned or forged.',
  unknown_validator_key: 'you gave no key of the validator of a vote. Add it: --key <name>=<key>.',
  vote_not_in_validator_set: 'it contains a vote of a network that is not one of its validators.',
  threshold_not_met: 'too few distinct validators approve.',
  missing_context_digest: 'a vote does not name the state it is based on.',
  cascade_detected: 'the votes are probably copies of each other.',
  expired: 'its five minutes are over.',
}

/** Runs `record vote`. With --json it prints the signed vote. */
export async function runRecordVote(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd } = context
  const file = args.required('justification')
  const { wire } = await loadRecord(cwd, file, JUSTIFICATION)
  const decision = await loadDecision(cwd, file, options.text('decision'))
  const keys = await loadPublicKeys(cwd, options, 'key')
  const reason = options.text('reason')
  const request = {
    justification_proof: wire,
    vote: args.required('vote') === 'approve',
    ...(reason === undefined ? {} : { reason }),
    ...(keys === undefined ? {} : { justification_public_keys: keys }),
    ...(decision === undefined ? {} : { decision }),
  }
  return issueRecord(context, options, ({ consensus }) => consensus.vote(request), {
    title: 'Voted:',
    members: voteMembers,
  })
}

/** The decision of --decision, else the one in the file that `ask` wrote. */
async function loadDecision(cwd: string, file: string, given: string | undefined): Promise<JsonObject | undefined> {
  if (given !== undefined) return (await loadRecord(cwd, given, DECISION)).wire
  const { decision } = await loadJsonObject(cwd, file)
  return isJsonObject(decision) ? decision : undefined
}
