import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { UNSALTED, agreementRecordForm, asJson, commitmentForm, isPlainText, proveMembership } from '@chancery/protocol'
import type { CapabilityCommitment, CapabilityMembershipProof } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { OWNER_ONLY, readText, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { loadRecord, recordKind, saveRecord } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Members, type Result, fields } from '../../output/screen.ts'

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
function seedFileOf(commitmentFile: string): string {
  return `${commitmentFile}.seed`
}

const AGREEMENT = recordKind('an agreement record', 'agreement', agreementRecordForm)
export const COMMITMENT = recordKind('a capability commitment', 'commitment', commitmentForm)

function commitmentMembers(commitment: CapabilityCommitment): Members {
  return [
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
  ]
}

function proofMembers(proof: CapabilityMembershipProof): Members {
  return [
    ['proof', proof.proof_id],
    ['shows', proof.revealed_capability],
    ['commitment', proof.commitment_id],
    ['prover', proof.prover_sovereign_id],
    ['made', proof.proved_at],
  ]
}

/** Runs `record prove` on this machine, so that hidden capabilities are not sent. */
export async function runRecordProve(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const path = args.required('commitment')
  const { record: commitment } = await loadRecord(cwd, path, COMMITMENT)
  const seed = commitment.salted === true ? await loadSeed(cwd, options.text('seed') ?? seedFileOf(path)) : undefined
  const { record, saved } = await saveRecord(cwd, options, async () => prove(context, options, commitment, seed))
  return { data: asJson(record), text: `${style.good('Proved:')}\n${fields(proofMembers(record), style)}${saved}` }
}

/** 64 hexadecimal digits, as `record commit` wrote them. */
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

/** Runs `record commit`. With --json it prints the signed record and the seed, or with --unsalted the record alone. */
export async function runRecordCommit(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { record, wire } = await loadRecord(cwd, args.required('agreement'), AGREEMENT)
  const chosen = options.list('capability')
  const capabilities = chosen.length === 0 ? record.agreed_terms.capabilities : chosen
  const request = { capabilities, agreement: wire }
  const connection = await connectAsOperator(context, options)
  const head = style.good('Committed:')
  if (options.isSet('unsalted')) {
    const { record: commitment, saved } = await saveRecord(cwd, options, () =>
      connection.ask((client) => client.disclosure.commitUnsalted(request)),
    )
    const text = `${head}\n${fields(commitmentMembers(commitment), style)}\n${style.warn(UNSALTED)}${saved}`
    return { data: commitment, text }
  }
  const out = options.text('out')
  const seedFile = out === undefined ? undefined : resolve(cwd, seedFileOf(out))
  if (seedFile !== undefined) await refuseExisting([seedFile])
  let seed = ''
  const { record: commitment, saved } = await saveRecord(cwd, options, async () => {
    const made = await connection.ask((client) => client.disclosure.commit(request))
    seed = made.seed
    // First: a commitment without its seed proves nothing.
    if (seedFile !== undefined) await writeNewFile(seedFile, `${seed}\n`, OWNER_ONLY)
    return made.commitment
  })
  const kept =
    seedFile === undefined
      ? `\nSeed (secret, needed for every proof): ${seed}`
      : `\nThe seed is in ${typed(cwd, seedFile)}. It is secret, and every proof needs it.`
  return { data: { commitment, seed }, text: `${head}\n${fields(commitmentMembers(commitment), style)}${saved}${kept}` }
}
