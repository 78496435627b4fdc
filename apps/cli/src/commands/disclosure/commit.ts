import { resolve } from 'node:path'
import { UNSALTED, visible } from '@chancery/protocol'
import { connect, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, fields, verdictText } from '../../output/screen.ts'
import { OWNER_ONLY, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { loadRecord, saveRecord } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import {
  AGREEMENT,
  COMMITMENT,
  DISCLOSURE_REASONS,
  PROOF,
  describeCommitment,
  describeProof,
  seedFileOf,
} from './disclosure.ts'
import { loadPublicKeys } from '../../files/keys.ts'

/** Runs `disclose nullify`: the verifier stores the nullifier, so the text states its lifetime. */
export async function runDiscloseNullify(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { wire } = await loadRecord(cwd, args.required('proof'), PROOF)
  const connection = await connectAsOperator(context, options)
  const { record: mark, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.disclosure.nullifier({ proof: wire })),
  )
  const facts = fields(
    [
      ['mark', mark.nullifier_id],
      ['proof', mark.proof_id],
      ['until', mark.expires_at],
    ],
    style,
  )
  return { data: mark, text: `${style.good('Marked for single use:')}\n${facts}${saved}` }
}

/** Runs `disclose verify`; the exit code is 1 when the proof is not valid. */
export async function runDiscloseVerify(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const proof = await loadRecord(cwd, args.required('proof'), PROOF)
  const { wire: commitment } = await loadRecord(cwd, options.required('commitment'), COMMITMENT)
  const keys = await loadPublicKeys(cwd, options, 'issuer-key')
  const supplied = keys === undefined ? {} : { issuer_public_keys: keys }
  const connection = await connect(context, options)
  const verdict = await connection.ask((client) =>
    client.disclosure.verify({ proof: proof.wire, commitment, ...supplied }),
  )
  const label = verdict.warning === null ? '' : `\n${style.warn(visible(verdict.warning))}`
  const text = `${verdictText(verdict, DISCLOSURE_REASONS, style)}${label}\n${describeProof(proof.record, style)}`
  return { data: verdict, text, exitCode: verdict.valid ? 0 : 1 }
}

/** Runs `disclose commit`. With --json it prints the signed record and the seed, or with --unsalted the record alone. */
export async function runDiscloseCommit(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
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
    const text = `${head}\n${describeCommitment(commitment, style)}\n${style.warn(UNSALTED)}${saved}`
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
  return { data: { commitment, seed }, text: `${head}\n${describeCommitment(commitment, style)}${saved}${kept}` }
}
