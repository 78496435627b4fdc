import {
  agreementRecordForm,
  asJson,
  commitmentForm,
  isPlainText,
  membershipProofForm,
  proveMembership,
  readReceived,
} from '@chancery/protocol'
import type { AgreementRecord, CapabilityCommitment, CapabilityMembershipProof, Received } from '@chancery/protocol'
import { type Result, type Style, fields } from '../../output/screen.ts'
import { type RecordKind, loadRecord, saveRecord } from '../../files/json-file.ts'
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** Texts for the reasons of protocol/trust-operations 7.4. */
export const DISCLOSURE_REASONS: Readonly<Record<string, string>> = {
  valid: 'it shows a capability of the commitment.',
  commitment_not_signed: 'the commitment carries no signature.',
  commitment_invalid_signature: 'no given key signed this commitment, or it was changed since. Do not use it.',
  path_length_inconsistent: 'its path does not fit the number of committed capabilities.',
  leaf_hash_mismatch: 'its hash is not that of the capability it shows.',
  root_mismatch: 'it does not match the root of this commitment.',
}

/** Where the seed of a commitment is stored by default. */
export function seedFileOf(commitmentFile: string): string {
  return `${commitmentFile}.seed`
}

export const AGREEMENT: RecordKind<Received<AgreementRecord>> = {
  name: 'an agreement record',
  member: 'agreement',
  read: (value) => readReceived(agreementRecordForm, value),
}

export const COMMITMENT: RecordKind<Received<CapabilityCommitment>> = {
  name: 'a capability commitment',
  member: 'commitment',
  read: (value) => readReceived(commitmentForm, value),
}

export const PROOF: RecordKind<Received<CapabilityMembershipProof>> = {
  name: 'the proof of a capability',
  member: 'proof',
  read: (value) => readReceived(membershipProofForm, value),
}

export function describeCommitment(commitment: CapabilityCommitment, style: Style): string {
  return fields(
    [
      ['commitment', commitment.commitment_id],
      ['issuer', commitment.issuer_sovereign_id],
      ['agreement', commitment.agreement_id],
      [
        'capabilities',
        commitment.salted === true
          ? `at most ${commitment.capability_count}, none of them shown`
          : `${commitment.capability_count}, hidden names can be guessed`,
      ],
      ['root', commitment.merkle_root],
      ['committed', commitment.committed_at],
    ],
    style,
  )
}

export function describeProof(proof: CapabilityMembershipProof, style: Style): string {
  return fields(
    [
      ['proof', proof.proof_id],
      ['shows', proof.revealed_capability],
      ['commitment', proof.commitment_id],
      ['prover', proof.prover_sovereign_id],
      ['made', proof.proved_at],
    ],
    style,
  )
}

/** Runs `disclose prove` on this machine, so that hidden capabilities are not sent. */
export async function runDiscloseProve(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const path = args.required('commitment')
  const { record: commitment } = await loadRecord(cwd, path, COMMITMENT)
  const seed = commitment.salted === true ? await loadSeed(cwd, options.text('seed') ?? seedFileOf(path)) : undefined
  const { record, saved } = await saveRecord(cwd, options, async () => prove(context, options, commitment, seed))
  return { data: asJson(record), text: `${style.good('Proved:')}\n${describeProof(record, style)}${saved}` }
}

/** 64 hexadecimal digits, as `disclose commit` wrote them. */
async function loadSeed(cwd: string, path: string): Promise<string> {
  const seed = (await readText(resolve(cwd, path), 200)).trim()
  if (/^[0-9a-f]{64}$/.test(seed)) return seed
  throw usageError(`${path} does not have the seed of a commitment.`, 'Give the file with --seed.')
}

function prove(
  { now }: CommandContext,
  options: Options,
  commitment: CapabilityCommitment,
  seed: string | undefined,
): CapabilityMembershipProof {
  const prover_sovereign_id = options.required('prover')
  if (!isPlainText(prover_sovereign_id, 128)) throw usageError('--prover is 1 to 128 characters.')
  const [capability, capabilities] = [options.required('reveal'), options.list('capability')]
  const named = { proof_id: randomUUID(), prover_sovereign_id, now: now() }
  const salted = seed === undefined ? {} : { seed }
  const proof = proveMembership({ capability, capabilities, commitment, ...salted, ...named })
  if (proof !== undefined) return proof
  const count = commitment.capability_count
  const hint =
    seed === undefined
      ? `The commitment was made over ${count} ${count === 1 ? 'capability' : 'capabilities'}: give each of them with --capability.`
      : `The commitment was made over at most ${count} capabilities: give each of them with --capability, and the seed of this commitment.`
  throw new CommandError({ code: 'prove_failed', message: 'These capabilities are not those of the commitment.', hint })
}
